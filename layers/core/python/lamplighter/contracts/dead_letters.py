"""Dead letters: what could not be read or handled, kept with where it came from and why.

The letter is the message itself, key, value and headers, so that putting it back is putting it back
as it was; its origin is in headers of our own, in front of those that it had.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, Headers, Message, Record

PREFIX: Final = "lamplighter-dead-"
WHY_BYTES: Final = 2_000

_TOPIC: Final = PREFIX + "topic"
_PARTITION: Final = PREFIX + "partition"
_OFFSET: Final = PREFIX + "offset"
_SENT: Final = PREFIX + "sent-ms"
_DIED: Final = PREFIX + "died-ms"
_FUNCTION: Final = PREFIX + "function"
_WHY: Final = PREFIX + "why"
_BYTES: Final = PREFIX + "bytes"


class DeadLetter(msgspec.Struct, frozen=True):
    """A message as it was, and what became of it. `topic` is None where nobody wrote it down."""

    topic: str | None
    partition: int | None
    offset: int | None
    key: bytes | None
    value: bytes
    headers: Headers
    why: str
    function: str
    at: datetime  # when it was given up
    sent_at: datetime | None  # when it was published
    # False where the message was too large to be carried along; then `value` is a note about it.
    whole: bool = True

    @property
    def can_return(self) -> bool:
        return self.whole and self.topic not in {None, DEAD_LETTERS.name}

    def message(self) -> Message:
        """The message as it was first published. Only where it `can_return`."""
        if self.topic is None or not self.can_return:
            raise ValueError("this dead letter is not whole, or says not where it came from")
        return Message(self.topic, self.value, self.key, self.headers)


def dead_letter(record: Record, why: str, function: str) -> Message:
    """For the dead-letter topic: `record`, given up by `function` because of `why`. Always fits."""
    origin = _origin(record, why, function)
    letter = Message(DEAD_LETTERS.name, record.value, record.key, origin + _own(record.headers))
    return letter if _size(letter) <= MAX_MESSAGE_BYTES else _note(record, origin)


def kept(record: Record) -> Message:
    """A dead letter once more, for the end of its topic; where it fits, with when it died."""
    as_it_was = Message(DEAD_LETTERS.name, record.value, record.key, record.headers)
    if _DIED in dict(record.headers):
        return as_it_was
    died = (_DIED, str(record.timestamp_ms).encode())
    dated = msgspec.structs.replace(as_it_was, headers=(died, *record.headers))
    return dated if _size(dated) <= MAX_MESSAGE_BYTES else as_it_was


def read_dead_letter(record: Record) -> DeadLetter:
    """Read what `dead_letter` wrote. Never raises: a foreign message has no topic to go back to."""
    ours = dict(_ours(record.headers))
    return DeadLetter(
        topic=_text(ours, _TOPIC) or None,
        partition=_number(ours, _PARTITION),
        offset=_number(ours, _OFFSET),
        key=record.key,
        value=record.value,
        headers=_own(record.headers),
        why=_text(ours, _WHY),
        function=_text(ours, _FUNCTION),
        at=_instant(_number(ours, _DIED)) or _instant(record.timestamp_ms) or _NEVER,
        sent_at=_instant(_number(ours, _SENT)),
        whole=_BYTES not in ours,
    )


_NEVER: Final = datetime.fromtimestamp(0, UTC)


def _origin(record: Record, why: str, function: str) -> Headers:
    told = {
        _TOPIC: record.topic,
        _PARTITION: str(record.partition),
        _OFFSET: str(record.offset),
        _SENT: str(record.timestamp_ms),
        _FUNCTION: function,
        _WHY: why,
    }
    # Lone surrogates, as in a file's name, must not make a second failure of the first.
    return tuple((name, text.encode(errors="replace")[:WHY_BYTES]) for name, text in told.items())


def _note(record: Record, origin: Headers) -> Message:
    """Without its key, value and headers; for a while it still lies where its origin says."""
    size = len(record.value)
    note = f"A message of {size:,} bytes, too large to be kept here with its origin."
    return Message(DEAD_LETTERS.name, note.encode(), None, (*origin, (_BYTES, str(size).encode())))


def _size(message: Message) -> int:
    headers = sum(len(name.encode()) + len(value) for name, value in message.headers)
    return len(message.value) + len(message.key or b"") + headers


def _ours(headers: Headers) -> Headers:
    return tuple(each for each in headers if each[0].startswith(PREFIX))


def _own(headers: Headers) -> Headers:
    return tuple(each for each in headers if not each[0].startswith(PREFIX))


def _text(headers: Mapping[str, bytes], name: str) -> str:
    return headers.get(name, b"").decode(errors="replace")


def _number(headers: Mapping[str, bytes], name: str) -> int | None:
    text = headers.get(name, b"")
    return int(text) if text.isdigit() and len(text) < 20 else None


def _instant(ms: int | None) -> datetime | None:
    try:
        return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
