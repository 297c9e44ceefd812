"""Standing: how much waits, and for how long. The leader looks now and then, and tells metrics.

Fargate scales on the backlog: what is due and what lies on the bus, also of a pool that has no
worker yet, and of a group that has never read. What a worker has in hand is neither, yet the last
task must not be stopped under it.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.domain.run import Due
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Depth, Queue
from lamplighter.stages.capacity import readers
from lamplighter.telemetry import Telemetry
from lamplighter.telemetry.metrics import BACKLOG, LEADER_CHANGES, OLDEST_DUE, QUEUE_DEPTH

# Jitter may hold the first by key back for longer than those behind it.
_LOOKED_AT: Final = 100
# What is called because nobody claims it, is called once a minute.
_CALLED_WITHIN: Final = timedelta(seconds=61)
# Who is written down later than this behind the clock has a wake-up call.
_WRITTEN_WITHIN: Final = timedelta(seconds=3)


class Gauge:
    """One for a process: it remembers where it last looked. One leader at a time looks."""

    def __init__(  # noqa: PLR0913 - its parts, and which pools there are
        self,
        telemetry: Telemetry,
        ledger: Ledger,
        queue: Queue,
        bus: Bus,
        pools: Iterable[str],
        *,
        mapped: Collection[str] = (),
    ) -> None:
        """`mapped`: the pools that Lambda's mappings read for."""
        self._telemetry = telemetry
        self._ledger, self._queue, self._bus = ledger, queue, bus
        self._readers = {pool: readers(pool, mapped=pool in mapped) for pool in pools}
        # Lambda stops nobody who works.
        self._scaled = [pool for pool in self._readers if pool not in mapped]
        self._seen_to: datetime | None = None

    def leads(self) -> None:
        """This process has the lease from here on."""
        self._telemetry.count(LEADER_CHANGES)

    def look(self, now: datetime) -> None:
        """Tell where things stand. A part that is away is not guessed at: its error is raised."""
        try:
            self._telemetry.count(OLDEST_DUE, self._oldest_seconds(now))
            depths = self._queue.depth(now)
            self._tell_depths(depths)
            self._tell_backlog(depths)
        finally:
            self._telemetry.flush()

    def _tell_depths(self, depths: Iterable[Depth]) -> None:
        """Of what is empty nothing is told: each series costs, and none is not a problem."""
        waiting = Counter[tuple[str, str]]()
        for depth in depths:
            waiting[depth.pool, depth.job_class.name] += depth.runs
        for (pool, job_class), runs in waiting.items():
            self._telemetry.count(QUEUE_DEPTH, runs, pool, job_class)
        self._telemetry.count(QUEUE_DEPTH, waiting.total())

    def _tell_backlog(self, depths: Iterable[Depth]) -> None:
        """Of every pool, also where it is 0: what was scaled out has to be scaled in again.

        Not 0 while a run is in hand there: workers claim, commit, and only then run.
        """
        backlog = Counter({pool: self._lag(pool) for pool in self._readers})
        for depth in depths:
            backlog[depth.pool] += depth.runs
        for pool in self._ledger.busy_pools(self._scaled):
            backlog[pool] = max(1, backlog[pool])
        for pool, runs in backlog.items():
            self._telemetry.count(BACKLOG, runs, pool)
        self._telemetry.count(BACKLOG, backlog.total())

    def _lag(self, pool: str) -> int:
        lags = [self._bus.lags(group, topics) for group, topics in self._readers[pool]]
        return sum(sum(each.values()) for each in lags)

    def _oldest_seconds(self, now: datetime) -> float:
        """For how long the oldest run is due that nobody has claimed; 0 where there is none."""
        waiting = [*self._on_schedule(now)]
        if called := self._ledger.unclaimed(now + _CALLED_WITHIN):
            waiting.append(called)
        ages = ((now - run.due_at).total_seconds() for run in waiting)
        return round(max(0.0, *ages), 3) if waiting else 0.0

    def _on_schedule(self, now: datetime) -> list[Due]:
        """From the watermark on, below which nothing waits uncalled; or from the last look."""
        watermark = self._ledger.cursor().watermark
        since = watermark if self._seen_to is None else max(watermark, self._seen_to)
        found = self._ledger.page(first_run_id(since), now, _LOOKED_AT)
        oldest = fire_of(found[0].run_id) if found else now
        self._seen_to = min(oldest, now - _WRITTEN_WITHIN)
        return found
