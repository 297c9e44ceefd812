"""Messages of one partition travel and rest together: a batch is one entry of a stream.

Appending, reading and trimming then cost per batch and not per message. An entry's id is the offset
after its last message, so reading after id 0-<n> starts with the entry that has message n in it.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final

import msgspec

from lamplighter.ports.bus import (
    MAX_MESSAGE_BYTES,
    Headers,
    Message,
    Place,
    Record,
    choose_partition,
)

Item = tuple[bytes | None, bytes, Headers]

# A reader takes whole entries: they must not be larger than the largest message allows for.
_MOST_ITEMS: Final = 1000
_MOST_BYTES: Final = MAX_MESSAGE_BYTES
_decoder: Final = msgspec.msgpack.Decoder(list[Item])
_encoder: Final = msgspec.msgpack.Encoder()
_turns: Final = count()


class Entry(msgspec.Struct, frozen=True):
    """Several messages for one partition."""

    place: Place
    size: int
    batch: bytes


def pack(batch: Sequence[Message], partitions: Callable[[str], int]) -> list[Entry]:
    """Sort messages by partition, in order."""
    by_place: dict[Place, list[Item]] = {}
    counts: dict[str, int] = {}
    anywhere = next(_turns)
    for message in batch:
        topic = message.topic
        number = counts.get(topic) or counts.setdefault(topic, partitions(topic))
        place = (topic, choose_partition(message, number, anywhere))
        by_place.setdefault(place, []).append((message.key, message.value, message.headers))
    return [entry for place, items in by_place.items() for entry in _entries(place, items)]


def _entries(place: Place, items: list[Item]) -> Iterator[Entry]:
    begin = size = 0
    for at, item in enumerate(items):
        length = len(item[1])
        if at > begin and (size + length > _MOST_BYTES or at - begin == _MOST_ITEMS):
            yield Entry(place, at - begin, _encoder.encode(items[begin:at]))
            begin, size = at, 0
        size += length
    yield Entry(place, len(items) - begin, _encoder.encode(items[begin:]))


def unpack(place: Place, end: int, timestamp_ms: int, batch: bytes, since: int) -> list[Record]:
    """The messages of the entry whose id is 0-<end>, from offset `since` on."""
    items = _decoder.decode(batch)
    first = end - len(items)
    topic, partition = place
    return [
        Record(topic, partition, offset, key, value, timestamp_ms, headers)
        for offset, (key, value, headers) in enumerate(items, first)
        if offset >= since
    ]
