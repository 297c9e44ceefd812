"""Redrive: dead letters go back to where they came from, once what killed them is mended.

A group knows only how far it has read. So a letter that is not chosen, but lies before one that is,
moves to the end of the topic; those behind the last one that is wanted stay where they are. Publish
first, commit second: a crash between the two does it twice, and whoever reads a topic of ours
minds no message that comes twice; the other order would lose it. Where a bus settles each message
by itself, what is not chosen stays in hand until the end, and so where it was.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from enum import Enum
from itertools import islice
from typing import Final

import msgspec

from lamplighter.contracts.dead_letters import DeadLetter, kept, read_dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import Bus, Capability, Consumer, Message, Record, UnknownTopic

GROUP: Final = "redrive"
BATCH: Final = 100
# To join a group of Kafka's takes three seconds, and more while another redrive is at work.
PATIENCE_SECONDS: Final = 15.0


class Fate(Enum):
    RETURNED = "returned"
    STAYED = "stayed"  # not asked for
    STUCK = "stuck"  # not whole, of unknown origin, or its topic is gone


class Redriven(msgspec.Struct, frozen=True):
    letter: DeadLetter
    fate: Fate


def redrive(
    bus: Bus,
    topic: str | None = None,
    limit: int | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Iterator[Redriven]:
    """Return up to `limit` letters, of `topic` only if given, oldest first; each is told when done.

    What dies again in the meantime is left to the next redrive.
    """
    left = limit
    with closing(_batches(bus, patience)) as batches:
        for consumer, batch in batches:
            wanted = list(islice((each for each in batch if _is_wanted(each, topic)), left))
            yield from _settle(bus, consumer, batch, wanted, is_last=len(wanted) == left)
            left = None if left is None else left - len(wanted)
            if left == 0:
                return


def dead_letters(
    bus: Bus,
    topic: str | None = None,
    limit: int | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Iterator[DeadLetter]:
    """Those that a redrive would look at; nothing changes."""
    return islice(_read(bus, topic, patience), limit)


def _read(bus: Bus, topic: str | None, patience: float) -> Iterator[DeadLetter]:
    for consumer, batch in _batches(bus, patience):
        letters = [read_dead_letter(record) for record in batch]
        yield from (each for each in letters if topic is None or each.topic == topic)
        _read_on(consumer, batch)


def _batches(bus: Bus, patience: float) -> Generator[tuple[Consumer, list[Record]], None, None]:
    """As many as there are now: what is moved to the end is not met again."""
    ahead = sum(bus.lags(GROUP, [DEAD_LETTERS.name]).values())
    if not ahead:
        return
    with closing(bus.consumer(GROUP, [DEAD_LETTERS.name])) as consumer:
        while ahead > 0 and (batch := consumer.poll(min(BATCH, ahead), patience)):
            ahead -= len(batch)
            yield consumer, batch


def _is_wanted(record: Record, topic: str | None) -> bool:
    letter = read_dead_letter(record)
    return letter.can_return and (topic is None or letter.topic == topic)


def _settle(
    bus: Bus, consumer: Consumer, batch: list[Record], wanted: list[Record], *, is_last: bool
) -> list[Redriven]:
    if is_last:
        batch = batch[: batch.index(wanted[-1]) + 1]
    returned = _give_back(bus, wanted)
    if Capability.ORDER in bus.capabilities:
        bus.publish([kept(each) for each in batch if each.offset not in returned])
        consumer.commit(batch)
    else:
        consumer.commit([each for each in batch if each.offset in returned])
    return [_told(each, wanted, returned) for each in batch]


def _told(record: Record, wanted: Sequence[Record], returned: set[int]) -> Redriven:
    letter = read_dead_letter(record)
    if record.offset in returned:
        return Redriven(letter, Fate.RETURNED)
    is_stuck = record in wanted or not letter.can_return
    return Redriven(letter, Fate.STUCK if is_stuck else Fate.STAYED)


def _give_back(bus: Bus, records: Sequence[Record]) -> set[int]:
    """The offsets of those that arrived. One topic at a time: one that is gone stops no other."""
    by_topic: dict[str, dict[int, Message]] = defaultdict(dict)
    for record in records:
        message = read_dead_letter(record).message()
        by_topic[message.topic][record.offset] = message
    returned: set[int] = set()
    for messages in by_topic.values():
        try:
            bus.publish(list(messages.values()))
        except UnknownTopic:
            continue
        returned |= messages.keys()
    return returned


def _read_on(consumer: Consumer, batch: Sequence[Record]) -> None:
    """Without a commit: a rewind to right behind the batch."""
    last = batch[-1]
    consumer.rewind([msgspec.structs.replace(last, offset=last.offset + 1)])
