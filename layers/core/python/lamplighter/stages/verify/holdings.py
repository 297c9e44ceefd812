"""Who held which key when: gathered job by job, and compared when all jobs are known."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from uuid import UUID

import msgspec

from lamplighter.domain.job import Job
from lamplighter.domain.run import Run
from lamplighter.domain.slots import (
    KEPT_WHILE_WAITING,
    SlotKey,
    SlotKind,
    is_backfill,
    slot_keys,
)
from lamplighter.domain.states import RunState
from lamplighter.stages.verify.case import Case
from lamplighter.stages.verify.lives import FAR_AHEAD

_RUNNING = (RunState.RUNNING, RunState.CANCELLING)
_LIMITS = frozenset({SlotKind.LANE, SlotKind.LIMIT})


class Holding(msgspec.Struct, frozen=True):
    """A run kept others from a slot, from `start` to `end`; `limit` is how many might do so."""

    start: datetime
    end: datetime
    limit: int
    job_id: UUID
    run_id: UUID


class Turn(msgspec.Struct, frozen=True):
    """A run in the line of an ordered key: from when on, when it began, when it was done with.

    `surely` says that `start` is when it got its slot; otherwise it may have had it for longer.
    """

    joined: datetime
    start: datetime | None
    end: datetime
    surely: bool
    fire_at: datetime
    job_id: UUID
    run_id: UUID


class Holdings:
    """`alone`: keys of which one run at a time may hold a slot. All are kept by key."""

    def __init__(self) -> None:
        self.alone: dict[str, list[Holding]] = {}
        self.limited: dict[str, list[Holding]] = {}
        self.turns: dict[str, list[Turn]] = {}

    def add(self, case: Case) -> None:
        keyed = any(slot_keys(version, version.pool) for version in case.life.versions)
        if not keyed and not any(is_backfill(run.origin) for run in case.runs):
            return
        keys = _Keys(case)
        for run in case.runs:
            self._add_run(case, run, keys)

    def _add_run(self, case: Case, run: Run, keys: "_Keys") -> None:
        start, end = case.first_start(run), run.end_time or FAR_AHEAD
        whole = [] if start is None else [(start, end)]
        self._hold(self.alone, run, whole, keys, KEPT_WHILE_WAITING)
        self._hold(self.limited, run, _stints(case, run), keys, _LIMITS)
        for key in keys.throughout(run, run.created_at, start or end):
            if key.kind is SlotKind.ORDER:
                self.turns.setdefault(key.name, []).append(_turn(case, run, start, end))

    def _hold(
        self,
        held: dict[str, list[Holding]],
        run: Run,
        stints: Iterable[tuple[datetime, datetime]],
        keys: "_Keys",
        kinds: frozenset[SlotKind],
    ) -> None:
        for start, end in stints:
            for key in keys.throughout(run, start, end):
                if key.kind in kinds:
                    each = Holding(start, end, key.limit, run.job_id, run.run_id)
                    held.setdefault(key.name, []).append(each)


class _Keys:
    """The keys that a job's runs need, by version, pool and lane: most jobs have one of each."""

    def __init__(self, case: Case) -> None:
        self._life = case.life
        self._known: dict[tuple[int, str, str], tuple[SlotKey, ...]] = {}

    def throughout(self, run: Run, first: datetime, last: datetime) -> Iterator[SlotKey]:
        """Those that it needed at all times between: what an edit gave it late, it may lack."""
        versions = self._life.during(first, last)
        named = [{key.name: key for key in self._of(each, run)} for each in versions]
        for name in named[0]:
            found = [keys[name] for keys in named if name in keys]
            if len(found) == len(named):
                yield max(found, key=lambda key: key.limit)

    def _of(self, version: Job, run: Run) -> tuple[SlotKey, ...]:
        origin = run.origin if is_backfill(run.origin) else ""
        at = (version.version, run.pool, origin)
        if at not in self._known:
            self._known[at] = slot_keys(version, run.pool, origin)
        return self._known[at]


def _stints(case: Case, run: Run) -> Iterator[tuple[datetime, datetime]]:
    """When it was at work: a limit counts only that, and not the time between two attempts."""
    noted = case.attempts(run)
    for each in noted:
        if each.started_at is not None:
            yield each.started_at, each.ended_at
    # A claim that was given back unbegun has left its start behind, but no worker.
    if run.start_time is None or run.executor_id is None:
        return
    if any(each.started_at == run.start_time for each in noted):
        return
    if run.end_time is not None:
        yield run.start_time, run.end_time
    elif run.state in _RUNNING:
        yield run.start_time, FAR_AHEAD


def _turn(case: Case, run: Run, start: datetime | None, end: datetime) -> Turn:
    noted = case.attempts(run)
    first_fence = noted[0].fence if noted else run.fence
    surely = not run.excused and first_fence == 1
    return Turn(run.created_at, start, end, surely, run.fire_at, run.job_id, run.run_id)
