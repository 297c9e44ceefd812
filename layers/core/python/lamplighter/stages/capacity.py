"""Room: how many runs of each pool may be on the bus at once.

Priority binds late: what waits for a place waits in the sorted sets, where a more urgent run can
still pass it, and not in a topic. So each pool has a window, and what its group has not yet
committed fills it: runs that lie in the topic, and those that an executor is busy with.
"""

import time
from collections.abc import Callable, Mapping

from lamplighter.contracts.topics import job_runs
from lamplighter.domain.policy import JobClass
from lamplighter.ports.bus import Bus
from lamplighter.ports.queue import Ready


class Window:
    def __init__(
        self,
        bus: Bus,
        windows: Mapping[str, int],
        *,
        every_seconds: float = 0.1,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bus = bus
        self._windows = windows
        self._every = every_seconds
        self._steady = steady
        self._looked_at = float("-inf")
        self._unfinished = dict.fromkeys(windows, 0)

    def free(self) -> dict[str, int]:
        """Places left in each pool. The bus is asked rarely; in between, what was sent counts."""
        if self._steady() - self._looked_at >= self._every:
            self._unfinished = {pool: self._lag(pool) for pool in self._windows}
            self._looked_at = self._steady()
        return {
            pool: max(0, window - self._unfinished[pool]) for pool, window in self._windows.items()
        }

    def sent(self, runs: list[Ready]) -> None:
        for run in runs:
            self._unfinished[run.pool] = self._unfinished.get(run.pool, 0) + 1

    def _lag(self, pool: str) -> int:
        group = executor_group(pool)
        return sum(self._bus.lag(group, job_runs(pool, each)) for each in JobClass)


def executor_group(pool: str) -> str:
    """The consumer group of a pool's workers."""
    return f"executor.{pool}"
