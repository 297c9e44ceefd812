"""Bundles: events of jobs that share a partition of `job-events` travel in one message.

A broker, a mapping and a reader each pay by the message, and a batch of runs has two events of
every run to tell. Order is kept as if each were a message of its own: all that a job has to tell is
in the partition of its id, one behind the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from zlib import crc32

import msgspec

from lamplighter.contracts.messages import JobEvent, encode
from lamplighter.contracts.msk import Read
from lamplighter.contracts.topics import JOB_EVENTS
from lamplighter.ports.bus import Message, Record

# Far below what a message may have: a bundle that fails is delivered again as a whole.
BUNDLE_BYTES: Final = 128 * 1024

_EVENTS: Final = msgspec.json.Decoder(list[JobEvent] | JobEvent)
_EVENT: Final = msgspec.json.Decoder(JobEvent)
_PIECES: Final = msgspec.json.Decoder(list[msgspec.Raw])


def job_event_messages(events: Iterable[JobEvent]) -> list[Message]:
    """As few as there are partitions, where these events are small."""
    by_partition: dict[int, list[JobEvent]] = {}
    for event in events:
        partition = crc32(event.job_id.bytes) % JOB_EVENTS.partitions
        by_partition.setdefault(partition, []).append(event)
    return [message for those in by_partition.values() for message in _bundled(those)]


def _bundled(events: Sequence[JobEvent]) -> Iterator[Message]:
    """Under one key, whichever of theirs: it leads to the partition of them all."""
    key = events[0].job_id.bytes
    pieces: list[bytes] = []
    size = 0
    for piece in map(encode, events):
        if pieces and size + len(piece) > BUNDLE_BYTES:
            yield Message(JOB_EVENTS.name, _listed(pieces), key)
            pieces, size = [], 0
        pieces.append(piece)
        size += len(piece)
    yield Message(JOB_EVENTS.name, _listed(pieces), key)


def _listed(pieces: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(pieces)


def read_job_events(records: Iterable[Record]) -> Read[JobEvent]:
    """The events of bundles. One that cannot be read holds up none of those beside it."""
    found: Read[JobEvent] = Read([], [])
    for record in records:
        try:
            told = _EVENTS.decode(record.value)
        except msgspec.MsgspecError as problem:
            _salvage(record, str(problem), found)
            continue
        # One that stands alone is as good: from before there were bundles, or from elsewhere.
        events = told if isinstance(told, list) else [told]
        found.good.extend((record, event) for event in events)
    return found


def alone(record: Record, event: JobEvent) -> Record:
    """The record as if it held nothing but this event."""
    return msgspec.structs.replace(record, value=_listed([encode(event)]))


def _salvage(record: Record, why: str, found: Read[JobEvent]) -> None:
    try:
        pieces = _PIECES.decode(record.value)
    except msgspec.MsgspecError:
        found.unreadable.append((record, why))
        return
    for piece in map(bytes, pieces):
        try:
            found.good.append((record, _EVENT.decode(piece)))
        except msgspec.MsgspecError as problem:
            # A bundle of its own, so that it can be put back as it is.
            odd = msgspec.structs.replace(record, value=_listed([piece]))
            found.unreadable.append((odd, str(problem)))
