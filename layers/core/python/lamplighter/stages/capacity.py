"""Room: how many runs of each pool may be on the bus at once, and in which partition there is some.

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

# A bus that did not answer may take its time to say so again.
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
        if self._steady() < pool.asked_at + (_AWAY_SECONDS if pool.away else pause):
            return
        try:
            pool.learn(self._bus.lags(pool.group, list(pool.topics.values())))
            pool.away = False
        except BusUnavailable:
            pool.away = True  # what was known still holds; publishing will say that it is away
        pool.asked_at = self._steady()


class _Pool:
    def __init__(self, name: str, size: int) -> None:
        self.size = size
        self.group = executor_group(name)
        self.topics = {job_class: job_runs(name, job_class) for job_class in JobClass}
        self.asked_at = float("-inf")
        self.away = False
        # For each class the unfinished messages of each partition, and who is next among equals.
        self._loads: dict[JobClass, list[int]] = {job_class: [] for job_class in JobClass}
        self._turns = dict.fromkeys(JobClass, 0)
        self._somewhere = 0

    def unfinished(self) -> int:
        return self._somewhere + sum(map(sum, self._loads.values()))

    def learn(self, lags: Mapping[Place, int]) -> None:
        self._somewhere = 0
        for job_class, topic in self.topics.items():
            places = sorted(place for place in lags if place[0] == topic)
            self._loads[job_class] = [lags[place] for place in places]

    def take(self, job_class: JobClass, runs: int) -> Sequence[int | None]:
        """Partitions for so many runs of a class, each as often as it gets one of them."""
        loads = self._loads[job_class]
        if not loads:
            self._somewhere += runs
            return [None] * runs
        shares = spread(runs, loads, self._turns[job_class])
        for partition, share in shares:
            loads[partition] += share
        self._turns[job_class] = shares[-1][0] + 1
        return [partition for partition, share in shares for _ in range(share)]


def spread(runs: int, loads: Sequence[int], turn: int) -> list[tuple[int, int]]:
    """Which partitions get how many of the runs, where `loads` says what each has to do already.

    Idle ones share them evenly: behind a single message, which may take a minute, nobody should
    wait. Where none is idle, the least loaded are filled up to one level. Among equals the line
    begins at `turn`.
    """
    line = sorted([*range(turn, len(loads)), *range(min(turn, len(loads)))], key=loads.__getitem__)
    line = [partition for partition in line if not loads[partition]] or line
    while len(line) * loads[line[-1]] > (total := runs + sum(loads[each] for each in line)):
        line.pop()
    level, rest = divmod(total, len(line))
    shares = [(each, level - loads[each] + (n < rest)) for n, each in enumerate(line)]
    return [(partition, share) for partition, share in shares if share]


def _by_topic(runs: Sequence[Ready]) -> dict[tuple[str, JobClass], list[int]]:
    """Where in the list the runs of each pool and class are."""
    numbers: dict[tuple[str, JobClass], list[int]] = {}
    for number, run in enumerate(runs):
        numbers.setdefault((run.pool, run.job_class), []).append(number)
    return numbers


def executor_group(pool: str) -> str:
    """The consumer group of a pool's workers."""
    return f"executor.{pool}"
