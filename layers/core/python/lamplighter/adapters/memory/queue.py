"""The queue in memory: the same contract and order as Valkey's, for tests and simulations."""

import threading
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from math import ceil
from uuid import UUID

from lamplighter.adapters.memory.lanes import Lanes
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.ordering import DEFAULT_SHARES, Places, strides
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Due
from lamplighter.ports.queue import NONE, Counts, Depth, QueueEmptied, Ready, StaleEpoch, Tick


class MemoryQueue:
    """Many may add. One thread ticks and sleeps: the leader's."""

    def __init__(self, *, shares: Mapping[JobClass, int] = DEFAULT_SHARES) -> None:
        self._strides = strides(shares)
        self._called = threading.Event()
        self._lock = threading.RLock()
        self.empty()

    def empty(self) -> None:
        """Lose everything, as a store does that was flushed or replaced."""
        self._sentinel: tuple[int, int] | None = None
        self._lanes = Lanes()
        self._runs: dict[UUID, Due] = {}
        self._in_flight: set[Ready] = set()
        self._paces: dict[str, float] = {}

    def begin(self, epoch: int, loaded_to: datetime, watermark: datetime) -> datetime:
        with self._lock:
            known, stood_at = self._sentinel or (epoch, None)
            if epoch < known:
                raise StaleEpoch(f"epoch {known} has begun")
            has_all = stood_at is not None and stood_at >= epoch_ms(loaded_to)
            start = epoch_ms(loaded_to if has_all else watermark)
            self._sentinel = epoch, start
            return instant_of(start)

    def loaded(self, epoch: int, to: datetime) -> None:
        with self._lock:
            self._guard(epoch)
            self._sentinel = epoch, epoch_ms(to)

    def keep_paces(self, paces: Mapping[str, float]) -> None:
        with self._lock:
            self._paces |= paces

    def paces(self) -> dict[str, float]:
        with self._lock:
            return dict(self._paces)

    def _guard(self, epoch: int | None) -> None:
        if self._sentinel is None:
            raise QueueEmptied("the sentinel is missing")
        known, _loaded_to = self._sentinel
        if epoch is not None and epoch > known:
            raise QueueEmptied("the sentinel of this epoch is missing")
        if epoch is not None and epoch < known:
            raise StaleEpoch(f"epoch {known} has begun")

    def add(self, runs: Sequence[Due], *, epoch: int | None = None) -> None:
        if not runs:
            return
        with self._lock:
            self._guard(epoch)
            before = self._lanes.next_due()
            self._lanes.settle([old for run in runs for old in self._add(run)])
            after = self._lanes.next_due()
        if after is not None and (before is None or after < before):
            self.wake()

    def _add(self, run: Due) -> list[Due]:
        """What had to make room for it."""
        known = self._runs.get(run.run_id)
        if known is not None and known.fence >= run.fence:
            return []
        self._runs[run.run_id] = run
        pulled = [known] if known is not None and self._lanes.pull(known) else []
        self._lanes.put(run)
        return pulled

    def remove(self, run_ids: Collection[UUID]) -> int:
        with self._lock:
            known = [self._runs[run] for run in set(run_ids) if run in self._runs]
            removed = [run for run in known if self._lanes.pull(run)]
            self._lanes.settle(removed)
            for run in removed:
                del self._runs[run.run_id]
            return len(removed)

    def holds(self, run_ids: Collection[UUID]) -> set[UUID]:
        with self._lock:
            return {run for run in run_ids if run in self._runs}

    def tick(
        self,
        epoch: int,
        now: datetime,
        free: Mapping[str, int],
        limit: int,
        kept: Mapping[str, int] = NONE,
    ) -> Tick:
        with self._lock:
            self._guard(epoch)
            now_ms = max(epoch_ms(now), self._lanes.now)
            if self._lanes.join_line(now_ms):
                self._lanes.now = now_ms
            places = {pool: Places(each, kept.get(pool, 0)) for pool, each in free.items()}
            popped, more = self._serve(now_ms, places, limit)
            runs = [_ready(run) for run in popped]
            self._in_flight.update(runs)
            backlog = any(self._lanes.in_line(pool) for pool in free)
            return Tick(runs, more, backlog, self.next_due())

    def _serve(self, now_ms: int, places: dict[str, Places], limit: int) -> tuple[list[Due], bool]:
        """Round by round: what one pool leaves of the limit, another may still need."""
        popped, more = self._serve_round(now_ms, places, limit)
        if not popped or not more or len(popped) >= limit:
            return popped, more
        for pool, taken in Counter(run.pool for run in popped).items():
            places[pool] = places[pool].less(taken)
        others, more = self._serve(now_ms, places, limit - len(popped))
        return popped + others, more

    def _serve_round(
        self, now_ms: int, places: dict[str, Places], limit: int
    ) -> tuple[list[Due], bool]:
        popped: list[Due] = []
        more = False
        for turn, (pool, left) in enumerate(places.items()):
            fair = ceil((limit - len(popped)) / (len(places) - turn))
            popped += self._serve_pool(now_ms, pool, left, fair)
            more = more or (fair < left.free and self._lanes.in_line(pool) > 0)
        return popped, more

    def _serve_pool(self, now_ms: int, pool: str, left: Places, limit: int) -> list[Due]:
        places = min(max(0, left.free), limit)
        popped: list[Due] = []
        if places and self._lanes.in_line(pool):
            popped += self._lanes.serve(pool, places, now_ms, self._strides)
        if left.free <= limit:
            popped += self._lanes.serve_small(pool, min(left.kept, limit - places), now_ms)
        return popped

    def published(self, epoch: int, runs: Sequence[Ready]) -> None:
        if not runs:
            return
        with self._lock:
            self._guard(epoch)
            for run in self._in_flight.intersection(runs):
                self._in_flight.remove(run)
                known = self._runs.get(run.run_id)
                if known is not None and _ready(known) == run:
                    del self._runs[run.run_id]

    def take_over(self, epoch: int) -> list[Ready]:
        with self._lock:
            self._guard(epoch)
            return sorted(self._in_flight, key=lambda run: run.run_id.bytes)

    def next_due(self) -> datetime | None:
        with self._lock:
            due = self._lanes.next_due()
        return None if due is None else instant_of(due)

    def depth(self, now: datetime) -> list[Depth]:
        with self._lock:
            found = [
                Depth(lane.pool, JobClass(lane.job_class), lane.tenant, runs)
                for lane, runs in self._lanes.depths(epoch_ms(now))
            ]
        return sorted(found, key=lambda each: -each.runs)

    def counts(self) -> Counts:
        return Counts(runs=len(self._runs), in_flight=len(self._in_flight))

    def wake(self) -> None:
        self._called.set()

    def sleep(self, seconds: float) -> bool:
        called = self._called.wait(max(0.0, seconds))
        self._called.clear()
        return called


def _ready(run: Due) -> Ready:
    return Ready(run.run_id, run.fence, run.priority, run.pool, run.tenant)
