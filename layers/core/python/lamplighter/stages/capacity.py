"""Room: how many runs of each pool may be on the bus at once, and in which partitions.

Priority binds late: what waits for a place waits in the sorted sets, where a more urgent run can
still pass it, and not in a topic. So each pool has a window, and what its group has not yet
committed fills it: runs that lie in the topic, and those that an executor is busy with. A window
that is large is opened only as far as the pool's pace fills it. A partition is handled by one
executor at a time, so a run goes where nobody is busy and nothing waits.

Whoever floods a pool must not delay the others: some places of a large window, and some partitions,
are kept for tenants that ask for little.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from lamplighter.contracts.topics import JOB_EVENTS, job_runs, job_runs_topics, mapping_group
from lamplighter.domain.ordering import LITTLE
from lamplighter.domain.policy import JobClass
from lamplighter.ports.bus import Bus, BusUnavailable, Place
from lamplighter.ports.queue import Ready
from lamplighter.stages.partitions import Partitions

# A leader has a lease to renew: no answer by then counts as none, and the next try can wait.
_PATIENCE_SECONDS: Final = 0.5
_AWAY_SECONDS: Final = 1.0
# So many may be on the bus however slow the pool; more only while it does that much in a moment.
_ALWAYS: Final = 2_000
_AHEAD_SECONDS: Final = 0.5
# A batch that takes an executor about this long costs little beside its runs, and delays nobody.
_BATCH_SECONDS: Final = 0.05
# Where that many are due at once, they wait anyway, and longer ones are cheaper still.
_LONG_BATCH_SECONDS: Final = 0.15
# One in so many places is kept for tenants that ask for little.
_ONE_PLACE_IN: Final = 200
# At rest, half of what is known of a pool's pace is forgotten in so long.
_REST_SECONDS: Final = 60.0


class Window:
    """The bus is asked rarely, of a pool at rest hardly ever; in between, what was sent counts."""

    def __init__(  # noqa: PLR0913 - two things to know, and each knob by its name
        self,
        bus: Bus,
        windows: Mapping[str, int],
        *,
        mapped: Collection[str] = (),
        every_seconds: float = 0.1,
        at_rest_seconds: float = 5.0,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`mapped`: the pools that Lambda's mappings read for."""
        self._bus = bus
        self._every = every_seconds
        self._at_rest = at_rest_seconds
        self._steady = steady
        self._ask_next = float("-inf")
        self._lock = threading.Lock()
        self._pools = {
            name: _Pool(name, size, readers(name, mapped=name in mapped), steady())
            for name, size in windows.items()
        }

    def free(self) -> dict[str, int]:
        """Places left in each pool."""
        self.look()
        with self._lock:
            return {name: max(0, pool.left()) for name, pool in self._pools.items()}

    def look(self) -> None:
        """Ask the bus what is still to be done, if that is not known well enough."""
        for pool in self._pools.values():
            self._look(pool)

    def kept(self) -> dict[str, int]:
        """Places beyond these, for tenants that ask for little. Nobody is asked, so any may."""
        with self._lock:
            return {
                name: max(0, min(pool.kept, pool.kept + pool.left()))
                for name, pool in self._pools.items()
            }

    def paces(self) -> dict[str, float]:
        """What the pools have shown, for the next leader to begin with."""
        return {name: pool.pace for name, pool in self._pools.items()}

    def believe(self, paces: Mapping[str, float]) -> None:
        """What the last leader knew: it may have been quick runs' hour."""
        for name, pace in paces.items():
            if pool := self._pools.get(name):
                pool.pace = max(pool.pace, pace)

    def look_in(self) -> float:
        """In how many seconds it is worth while to look, for the pace: soon, then ever later."""
        busy = [pool.look_at(self._every) for pool in self._pools.values() if pool.unfinished()]
        return max(0.0, max(self._ask_next, min(busy, default=math.inf)) - self._steady())

    def place(self, runs: Sequence[Ready]) -> list[int | None]:
        """A partition for each of these, which are unfinished from here on.

        None, which leaves it to the key, until the bus has said for the first time what there is.
        """
        places: list[int | None] = [None] * len(runs)
        for (name, job_class), numbers in _by_topic(runs).items():
            pool = self._pools.get(name)
            if pool:
                # Who asks for little first: an idle partition is worth more to them.
                for is_little, those in _by_size(runs, numbers):
                    with self._lock:
                        chosen = pool.take(
                            job_class, len(those), self._steady(), is_little=is_little
                        )
                    for number, partition in zip(those, chosen, strict=True):
                        places[number] = partition
        return places

    def _look(self, pool: "_Pool") -> None:
        pause = self._every if pool.unfinished() else self._at_rest
        if self._steady() < max(self._ask_next, pool.asked_at + pause):
            return
        lags: dict[Place, int] = {}
        try:
            for group, topics in pool.readers:
                lags |= self._bus.lags(group, topics, seconds=_PATIENCE_SECONDS)
        except BusUnavailable:  # what was known still counts; publishing will say that it is away
            self._ask_next = self._steady() + _AWAY_SECONDS
        else:
            with self._lock:
                pool.learn(lags, self._steady())


class _Pool:
    def __init__(
        self, name: str, size: int, readers: Sequence[tuple[str, list[str]]], now: float
    ) -> None:
        self.kept = size // _ONE_PLACE_IN
        self.size = size - self.kept
        self.readers = readers
        self.topics = {job_class: job_runs(name, job_class) for job_class in JobClass}
        self.asked_at = float("-inf")
        self._partitions = {job_class: Partitions() for job_class in JobClass}
        self._somewhere = 0
        self.pace = 0.0  # runs that it finishes in a second
        self._busy_since = now

    def room(self) -> int:
        """How many may be on the bus now."""
        return min(self.size, max(_ALWAYS, int(self.pace * _AHEAD_SECONDS)))

    def left(self) -> int:
        """Places; below 0 where who asks for little has got some beyond them."""
        return self.room() - self.unfinished()

    def unfinished(self) -> int:
        return self._somewhere + sum(each.unfinished() for each in self._partitions.values())

    def look_at(self, every: float) -> float:
        busy_for = self.asked_at - self._busy_since
        return self._last() + max(every, busy_for)

    def learn(self, lags: Mapping[Place, int], now: float) -> None:
        before, self._somewhere = self.unfinished(), 0
        for job_class, topic in self.topics.items():
            places = sorted(place for place in lags if place[0] == topic)
            self._partitions[job_class].learn([lags[place] for place in places])
        seconds = now - self._last()
        if before:
            pace = max(0, before - self.unfinished()) / max(0.001, seconds)
            # Batches end in bursts: a moment in which none did says little.
            self.pace = max(pace, 0.75 * self.pace)
        else:  # rest says nothing: what is due every minute goes out as quickly as it did
            self.pace *= 0.5 ** (seconds / _REST_SECONDS)
        self.asked_at = now

    def _last(self) -> float:
        """When it was last asked for, or, if that was later, had nothing to do."""
        return max(self.asked_at, self._busy_since)

    def take(
        self, job_class: JobClass, runs: int, now: float, *, is_little: bool
    ) -> Sequence[int | None]:
        if not self.unfinished():
            self._busy_since = now
        partitions = self._partitions[job_class]
        together = self._together(runs, len(partitions))
        chosen = partitions.take(runs, together, is_little=is_little)
        if not chosen:
            self._somewhere += runs
        return chosen or [None] * runs

    def _together(self, runs: int, partitions: int) -> int:
        """How large to make batches: the larger, the less each run costs, if all of it is quick.

        Where more is due than there is room for, all executors have work if each partition gets its
        part of the room; where less is, if each gets one run.
        """
        is_full = self.unfinished() + runs >= self.room()
        many = int(self.pace * _LONG_BATCH_SECONDS)
        if is_full or runs > many > 0:
            return max(1, self.room() // max(1, partitions) if is_full else 1, many)
        return max(1, int(self.pace * _BATCH_SECONDS))


def _by_topic(runs: Sequence[Ready]) -> dict[tuple[str, JobClass], list[int]]:
    """Where in the list the runs of each pool and class are."""
    numbers: dict[tuple[str, JobClass], list[int]] = {}
    for number, run in enumerate(runs):
        numbers.setdefault((run.pool, run.job_class), []).append(number)
    return numbers


def _by_size(runs: Sequence[Ready], numbers: Sequence[int]) -> list[tuple[bool, list[int]]]:
    """The runs of tenants that have few of these, and the others; without what is empty."""
    count = Counter(runs[number].tenant for number in numbers)
    parts: dict[bool, list[int]] = {True: [], False: []}
    for number in numbers:
        parts[count[runs[number].tenant] <= LITTLE].append(number)
    return [(is_little, part) for is_little, part in parts.items() if part]


def executor_group(pool: str) -> str:
    """The consumer group of a pool's workers."""
    return f"executor.{pool}"


def probe(bus: Bus) -> None:
    """Any question that whoever counts may ask: BusUnavailable where nobody answers."""
    bus.lags(mapping_group("recorder", JOB_EVENTS.name), [JOB_EVENTS.name])


def readers(pool: str, *, mapped: bool = False) -> list[tuple[str, list[str]]]:
    """The groups that read a pool's topics, and which.

    Lambda's mappings have one topic each, and no two may share a group.
    """
    group, topics = executor_group(pool), [topic.name for topic in job_runs_topics(pool)]
    if mapped:
        return [(mapping_group(group, topic), [topic]) for topic in topics]
    return [(group, topics)]
