"""The bus in memory, for tests of what uses it: same promises, no broker, nothing survives."""

import threading
import time
from collections.abc import Sequence
from itertools import count

from lamplighter.ports.bus import (
    COUNT_SECONDS,
    EVERYTHING,
    Message,
    Place,
    Record,
    Topic,
    UnknownTopic,
    check_sizes,
    choose_partition,
    ends,
    starts,
)


class MemoryBus:
    """One lock for everything; whoever waits for messages waits on it."""

    capabilities = EVERYTHING

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.logs: dict[Place, list[Record]] = {}
        self.committed: dict[tuple[str, Place], int] = {}
        self.members: dict[str, list[MemoryConsumer]] = {}
        self._partitions: dict[str, int] = {}
        self._turns = count()

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        with self.changed:
            for topic in topics:
                if topic.name not in self._partitions:
                    self._partitions[topic.name] = topic.partitions
                    self.logs |= {(topic.name, n): [] for n in range(topic.partitions)}

    def publish(self, batch: Sequence[Message]) -> None:
        check_sizes(batch)
        with self.changed:
            places = [self._place(message) for message in batch]
            for message, place in zip(batch, places, strict=True):
                self._append(message, place)
            self.changed.notify_all()

    def consumer(
        self,
        group: str,
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,  # noqa: ARG002  within one process nobody crashes alone
        handling_seconds: float = 960.0,  # noqa: ARG002
    ) -> "MemoryConsumer":
        with self.changed:
            places = [place for topic in topics for place in self.places(topic)]
            return MemoryConsumer(self, group, places)

    def lags(
        self,
        group: str,
        topics: Sequence[str],
        *,
        seconds: float = COUNT_SECONDS,  # noqa: ARG002  it is never away
    ) -> dict[Place, int]:
        with self.changed:
            places = [place for topic in topics for place in self.places(topic)]
            return {p: len(self.logs[p]) - self.committed.get((group, p), 0) for p in places}

    def close(self) -> None:
        """Nothing to let go of."""

    def places(self, topic: str) -> list[Place]:
        return [(topic, number) for number in range(self._count(topic))]

    def _count(self, topic: str) -> int:
        if topic not in self._partitions:
            raise UnknownTopic(f"there is no topic {topic}; ensure_topics makes it")
        return self._partitions[topic]

    def _place(self, message: Message) -> Place:
        partitions = self._count(message.topic)
        return message.topic, choose_partition(message, partitions, next(self._turns))

    def _append(self, message: Message, place: Place) -> None:
        log = self.logs[place]
        now = int(time.time() * 1000)
        log.append(Record(*place, len(log), message.key, message.value, now, message.headers))


class MemoryConsumer:
    def __init__(self, bus: MemoryBus, group: str, places: Sequence[Place]) -> None:
        self._bus = bus
        self._group = group
        self._places = places
        # For each partition of ours the next offset to hand out, and the end of what is out.
        self.held: dict[Place, int] = {}
        self.out: dict[Place, int] = {}
        bus.members.setdefault(group, []).append(self)

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        with self._bus.changed:
            while not (records := self._take(max_records)):
                left = deadline - time.monotonic()
                if left <= 0 or not self._bus.changed.wait(left):
                    return self._take(max_records)
            return records

    def commit(self, records: Sequence[Record]) -> None:
        with self._bus.changed:
            for place, end in ends(records).items():
                if place in self.out:
                    known = self._bus.committed.get((self._group, place), 0)
                    self._bus.committed[self._group, place] = max(known, end)
                    if end >= self.out[place]:
                        del self.out[place]
            self._bus.changed.notify_all()

    def rewind(self, records: Sequence[Record]) -> None:
        with self._bus.changed:
            for place, start in starts(records).items():
                if self.out.pop(place, None):
                    self.held[place] = start
            self._bus.changed.notify_all()

    def close(self) -> None:
        with self._bus.changed:
            self._members().remove(self)
            self._bus.changed.notify_all()

    def _members(self) -> "list[MemoryConsumer]":
        return self._bus.members[self._group]

    def _take(self, most: int) -> list[Record]:
        self._balance()
        taken: list[Record] = []
        for place, start in list(self.held.items()):
            fresh = self._bus.logs[place][start : start + most - len(taken)]
            if fresh and place not in self.out:
                taken += fresh
                self.held[place] = self.out[place] = fresh[-1].offset + 1
        return taken

    def _balance(self) -> None:
        """Give up what is beyond our share and at rest; take what is free, up to it."""
        members = self._members()
        turn = members.index(self)
        share = (len(self._places) + len(members) - 1 - turn) // len(members)
        idle = [place for place in self.held if place not in self.out]
        for place in idle[: max(0, len(self.held) - share)]:
            del self.held[place]
            self._bus.changed.notify_all()
        taken = {place for member in members for place in member.held}
        for place in [p for p in self._places if p not in taken][: max(0, share - len(self.held))]:
            self.held[place] = self._bus.committed.get((self._group, place), 0)
