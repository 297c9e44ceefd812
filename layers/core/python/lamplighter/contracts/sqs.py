"""A message of the bus on its way through SQS, and the event that Lambda's SQS mapping sends.

The body is the value, where that is text as all of ours is: whoever looks into a queue can read it.
Beside it, as message attributes: its topic, its key, its headers packed as one (there are ten
attributes at most, and a header may come twice), and a value that is no text. Binary attributes
are counted as they are and not as base64, so a message of the largest size fits whatever is in it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import Headers, Message, Record

# SQS moves a message that was taken so often, and never settled, to the dead letters. High, since
# an outage of the ledger counts too: with pauses of up to five minutes this is a day of it.
MAX_RECEIVES: Final = 300

# The one partition that a queue is.
PARTITION: Final = 0

_TOPIC: Final = "topic"
_KEY: Final = "key"
_HEADERS: Final = "headers"
_VALUE: Final = "value"
_IN_THE_ATTRIBUTE: Final = "-"
# Of XML's characters, those that come back as they went in: a carriage return may not.
_NOT_TEXT: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_read_headers: Final = msgspec.msgpack.Decoder(Headers).decode


class Wrapped(msgspec.Struct, frozen=True):
    """A message as SQS takes it. `size` is what it counts."""

    body: str
    attributes: dict[str, dict[str, Any]]
    size: int


def wrap(message: Message) -> Wrapped:
    text = _text(message.value)
    attributes: dict[str, dict[str, Any]] = {
        _TOPIC: {"DataType": "String", "StringValue": message.topic}
    }
    size = len(_TOPIC) + len("String") + len(message.topic)
    binary = {
        _KEY: message.key,
        _HEADERS: msgspec.msgpack.encode(message.headers) if message.headers else None,
        _VALUE: message.value if text is None else None,
    }
    for name, value in binary.items():
        if value:
            attributes[name] = {"DataType": "Binary", "BinaryValue": value}
            size += len(name) + len("Binary") + len(value)
    return Wrapped(
        _IN_THE_ATTRIBUTE if text is None else text,
        attributes,
        size + (len(_IN_THE_ATTRIBUTE) if text is None else len(message.value)),
    )


def _text(value: bytes) -> str | None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return None if text in {"", _IN_THE_ATTRIBUTE} or _NOT_TEXT.search(text) else text


class Attribute(msgspec.Struct, rename="camel"):
    """As it stands in Lambda's event."""

    string_value: str | None = None
    binary_value: bytes | None = None


def unwrap(
    body: str, attributes: Mapping[str, Attribute], sent_ms: int, offset: int, queue: str
) -> Record:
    """What was published. Of a message that another put into the queue, the queue is the topic."""
    topic = attributes.get(_TOPIC, Attribute()).string_value
    value = attributes.get(_VALUE, Attribute()).binary_value
    headers = attributes.get(_HEADERS, Attribute()).binary_value
    is_elsewhere = topic is not None and body == _IN_THE_ATTRIBUTE
    return Record(
        topic or queue,
        PARTITION,
        offset,
        attributes.get(_KEY, Attribute()).binary_value,
        # An empty value is in neither place: SQS takes no empty ones.
        (value or b"") if is_elsewhere else body.encode(),
        sent_ms,
        _read_headers(headers) if headers else (),
    )


def as_dead_letter(record: Record) -> Record:
    """What SQS itself moved to the dead letters, told like the letters of our own."""
    why = f"taken {MAX_RECEIVES} times, and every time without an end"
    letter = dead_letter(record, why, "sqs")
    return msgspec.structs.replace(
        record,
        topic=DEAD_LETTERS.name,
        key=letter.key,
        value=letter.value,
        headers=letter.headers,
    )


class Receipt(msgspec.Struct, frozen=True):
    """What it takes to give a message back before its time."""

    message_id: str
    topic: str
    handle: str
    receives: int


def pause_seconds(receives: int) -> int:
    """How long what came back rests: soon again at first, then ever more rarely."""
    return 0 if receives <= 2 else min(2 ** (receives - 3), 300)


class _Message(msgspec.Struct, rename="camel"):
    message_id: str
    receipt_handle: str
    body: str
    attributes: dict[str, str]
    event_source: Literal["aws:sqs"]
    event_source_arn: str = msgspec.field(name="eventSourceARN")
    message_attributes: dict[str, Attribute] = {}


class _Event(msgspec.Struct):
    messages: list[_Message] = msgspec.field(name="Records")


def is_sqs_event(event: Mapping[str, Any]) -> bool:
    return "Records" in event


def decode_event(event: Mapping[str, Any]) -> tuple[list[Record], list[Receipt]]:
    """The records of an event, numbered as they lie in it, and the receipts of their messages."""
    messages = msgspec.convert(event, _Event).messages
    records = [_record(message, number) for number, message in enumerate(messages)]
    receipts = [
        Receipt(
            message.message_id,
            record.topic,
            message.receipt_handle,
            int(message.attributes.get("ApproximateReceiveCount", "1")),
        )
        for message, record in zip(messages, records, strict=True)
    ]
    return records, receipts


def _record(message: _Message, number: int) -> Record:
    return unwrap(
        message.body,
        message.message_attributes,
        int(message.attributes.get("SentTimestamp", "0")),
        number,
        message.event_source_arn.rpartition(":")[2],
    )
