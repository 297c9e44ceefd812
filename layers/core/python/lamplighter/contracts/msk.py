"""The event that Lambda's Kafka mapping sends, and the answer it understands.

Every function that reads a topic gets this shape, whatever the bus: on AWS from the mapping, on one
machine from a reader that stands in for it. So both directions live here.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from lamplighter.ports.bus import Headers, Record

T = TypeVar("T")


class _Record(msgspec.Struct, gc=False, rename="camel"):
    """As AWS writes it. msgspec reads `bytes` from base64 by itself."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str = "CREATE_TIME"
    key: bytes | None = None
    value: bytes | None = None
    headers: list[dict[str, Any]] = []


class _Event(msgspec.Struct, rename="camel"):
    records: dict[str, list[_Record]]
    event_source: str = "aws:kafka"
    event_source_arn: str = ""
    bootstrap_servers: str = ""


class _Item(msgspec.Struct):
    partition: str
    offset: int


class _Failure(msgspec.Struct, rename="camel"):
    item_identifier: _Item


class _Answer(msgspec.Struct, rename="camel"):
    batch_item_failures: list[_Failure] | None = None


class Settlement(msgspec.Struct, frozen=True):
    """What a handler's answer means: commit these, deliver those again."""

    done: list[Record]
    again: list[Record]


def event_of(records: Iterable[Record], *, arn: str = "", servers: str = "") -> dict[str, Any]:
    """The event for these records. Their order within a partition is kept.

    Made of what JSON has, so that a handler which is given it sees what it would see on AWS; by
    hand, since that costs half of writing it as JSON and reading that again.
    """
    by_place: dict[str, list[dict[str, Any]]] = {}
    for each in records:
        by_place.setdefault(f"{each.topic}-{each.partition}", []).append(_to_wire(each))
    return {
        "eventSource": "aws:kafka",
        "eventSourceArn": arn,
        "bootstrapServers": servers,
        "records": by_place,
    }


def _to_wire(record: Record) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        "timestampType": "CREATE_TIME",
        "key": None if record.key is None else b64encode(record.key).decode(),
        "value": b64encode(record.value).decode(),
        "headers": [{name: _numbers(value)} for name, value in record.headers],
    }


def decode_event(event: Mapping[str, Any]) -> list[Record]:
    """The records of an event as Lambda hands it to a handler. Raises msgspec.ValidationError."""
    batches = msgspec.convert(event, _Event).records.values()
    return [
        Record(
            wire.topic,
            wire.partition,
            wire.offset,
            wire.key,
            wire.value or b"",
            wire.timestamp,
            _headers(wire.headers) if wire.headers else (),
        )
        for batch in batches
        for wire in batch
    ]


def _headers(wire: list[dict[str, Any]]) -> Headers:
    return tuple((name, _bytes(numbers)) for each in wire for name, numbers in each.items())


class Read(msgspec.Struct, Generic[T], frozen=True):
    """Records that could be read, with what they say; and those that could not, with why."""

    good: list[tuple[Record, T]]
    unreadable: list[tuple[Record, str]]


def read_each(records: Iterable[Record], read: Callable[[bytes], T]) -> Read[T]:
    """A record that cannot be read will not be readable next time: it must not hold up others."""
    found: Read[T] = Read([], [])
    for record in records:
        try:
            found.good.append((record, read(record.value)))
        except msgspec.MsgspecError as problem:
            found.unreadable.append((record, str(problem)))
    return found


# Java's bytes are signed, and so are AWS's numbers. Nearly all headers are ASCII, where that is the
# same, and `bytes` and `list` are several times faster than a loop.


def _bytes(numbers: list[Any]) -> bytes:
    try:
        return bytes(numbers)
    except ValueError:
        return bytes([number & 0xFF for number in numbers])


def _numbers(value: bytes) -> list[int]:
    return list(value) if value.isascii() else memoryview(value).cast("b").tolist()


def answer(failed: Iterable[Record]) -> dict[str, Any]:
    """What a handler returns: these failed, all others are done."""
    items = [
        {"itemIdentifier": {"partition": f"{each.topic}-{each.partition}", "offset": each.offset}}
        for each in failed
    ]
    return {"batchItemFailures": items}


def settle(records: Sequence[Record], answered: object) -> Settlement:
    """Read a handler's answer as the mapping does.

    In each partition everything from the first failure on comes again, to keep the order. No
    answer, or one without failures, is success; one that cannot be read, or that names a record
    that was not in the batch, is failure of all.
    """
    failures = _first_failures(answered)
    if failures == {}:
        return Settlement(list(records), [])
    if failures is None or not failures.keys() <= {_name(each) for each in records}:
        return Settlement([], list(records))
    done: list[Record] = []
    again: list[Record] = []
    for each in records:
        first = failures.get(_name(each))
        (done if first is None or each.offset < first else again).append(each)
    return Settlement(done, again)


def _first_failures(answered: object) -> dict[str, int] | None:
    try:
        read = msgspec.convert(answered, _Answer | None)
    except msgspec.ValidationError:
        return None
    first: dict[str, int] = {}
    for failure in (read.batch_item_failures or []) if read else []:
        item = failure.item_identifier
        first[item.partition] = min(first.get(item.partition, item.offset), item.offset)
    return first


def _name(record: Record) -> str:
    return f"{record.topic}-{record.partition}"
