"""Room: how many runs of each pool may be on the bus at once, and in which partitions.

Priority binds late: what waits for a place waits in the sorted sets, where a more urgent run can
still pass it, and not in a topic. So each pool has a window, and what its group has not yet
committed fills it: runs that lie in the topic, and those that an executor is busy with. A partition
is handled by one executor at a time, so a run goes where nobody is busy and nothing waits.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lamplighter.contracts.topics import job_runs
from lamplighter.domain.policy import JobClass
from lamplighter.ports.bus import Bus, BusUnavailable, Place
from lamplighter.ports.queue import Ready
from lamplighter.stages.partitions import Partitions

# A leader has a lease to renew: no answer by then counts as none, and the next try can wait.
_PATIENCE_SECONDS: Final = 0.5
_AWAY_SECONDS: Final = 1.0


class Window:
    """The bus is asked rarely, of a pool at rest hardly ever; in between, what was sent counts."""

    def __init__(
        self,
        bus: Bus,
        windows: Mapping[str, int],
        *,
        every_seconds: float = 0.1,
        at_rest_seconds: float = 5.0,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bus = bus
        self._every = every_seconds
        self._at_rest = at_rest_seconds
        self._steady = steady
        self._ask_next = float("-inf")
        self._pools = {name: _Pool(name, size) for name, size in windows.items()}

    def free(self) -> dict[str, int]:
        """Places left in each pool."""
        for pool in self._pools.values():
            self._look(pool)
        return {name: max(0, pool.size - pool.unfinished()) for name, pool in self._pools.items()}

    def place(self, runs: Sequence[Ready]) -> list[int | None]:
        """A partition for each of these, which are unfinished from here on.

        None, which leaves it to the key, until the bus has said for the first time what there is.
        """
        places: list[int | None] = [None] * len(runs)
        for (name, job_class), numbers in _by_topic(runs).items():
            pool = self._pools.get(name)
            if pool:
                self._look(pool)
                chosen = pool.take(job_class, len(numbers))
                for number, partition in zip(numbers, chosen, strict=True):
                    places[number] = partition
        return places

    def _look(self, pool: "_Pool") -> None:
        pause = self._every if pool.unfinished() else self._at_rest
        if self._steady() < max(self._ask_next, pool.asked_at + pause):
            return
        topics = list(pool.topics.values())
        try:
            pool.learn(self._bus.lags(pool.group, topics, seconds=_PATIENCE_SECONDS))
        except BusUnavailable:  # what was known still counts; publishing will say that it is away
            self._ask_next = self._steady() + _AWAY_SECONDS
        else:
            pool.asked_at = self._steady()


class _Pool:
    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.group = executor_group(name)
        self.topics = {job_class: job_runs(name, job_class) for job_class in JobClass}
        self.asked_at = float("-inf")
        self._partitions = {job_class: Partitions() for job_class in JobClass}
        self._somewhere = 0

    def unfinished(self) -> int:
        return self._somewhere + sum(each.unfinished() for each in self._partitions.values())

    def learn(self, lags: Mapping[Place, int]) -> None:
        self._somewhere = 0
        for job_class, topic in self.topics.items():
            places = sorted(place for place in lags if place[0] == topic)
            self._partitions[job_class].learn([lags[place] for place in places])

    def take(self, job_class: JobClass, runs: int) -> Sequence[int | None]:
        partitions = self._partitions[job_class]
        # More is due than there is room for: a batch costs its executor the less, the larger it is.
        # No larger than a partition's part of the room, so that all of them have work.
        is_full = self.unfinished() + runs >= self.size
        chosen = partitions.take(
            runs, max(1, self.size // len(partitions)) if is_full and len(partitions) else 1
        )
        if not chosen:
            self._somewhere += runs
        return chosen or [None] * runs


def _by_topic(runs: Sequence[Ready]) -> dict[tuple[str, JobClass], list[int]]:
    """Where in the list the runs of each pool and class are."""
    numbers: dict[tuple[str, JobClass], list[int]] = {}
    for number, run in enumerate(runs):
        numbers.setdefault((run.pool, run.job_class), []).append(number)
    return numbers


def executor_group(pool: str) -> str:
    """The consumer group of a pool's workers."""
    return f"executor.{pool}"
