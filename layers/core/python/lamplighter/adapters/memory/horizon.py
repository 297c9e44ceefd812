"""The horizon: planning schedules, and loading what is due on schedule and off it."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import LOADING, PASSED_AFTER, Books, Standing
from lamplighter.adapters.memory.dependents import block, followers, judge_blocked
from lamplighter.adapters.memory.first_fire import stand_at
from lamplighter.adapters.memory.leases import check_lease
from lamplighter.adapters.memory.missed import write_missed
from lamplighter.adapters.memory.runs import due_of, still_scheduled, write_down
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.ids import BY_SCHEDULE, first_run_id
from lamplighter.domain.run import Due, Run, new_runs
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Agenda, Cursor, DueSchedule, Lease, Planned

# A woken run that nobody claims within this time is woken again.
WAKE_AGAIN = timedelta(seconds=60)
_AWAKENED = (RunState.SCHEDULED, RunState.RETRYING)


class MemoryHorizon(Transactional):
    def agenda(self) -> Agenda:
        with self._transaction() as books:
            fires = (standing.next_fire_at for standing in books.schedules.values())
            calls = (run.wake_at for run in books.runs.values() if run.wake_at is not None)
            return Agenda(min(fires, default=None), min(calls, default=None))

    def due_schedules(self, until: datetime, limit: int) -> list[DueSchedule]:
        with self._transaction() as books:
            standings = [
                (standing.next_fire_at, job_id)
                for job_id, standing in books.schedules.items()
                if standing.next_fire_at < until
            ]
            found = nsmallest(limit, standings)
            return [DueSchedule(books.jobs[job_id], fire) for fire, job_id in found]

    def plan(self, lease: Lease, planned: Sequence[Planned]) -> list[Due]:
        with self._transaction() as books:
            check_lease(books, lease)
            counting = [each for each in planned if _still_stands(books, each)]
            runs = [run for each in counting for run in _write_one(books, each)]
            runs += block(books, followers(books, [each.job.job_id for each in counting]))
            judge_blocked(books, [run.run_id for run in runs])
            return still_scheduled(books, runs)

    def page(self, after: UUID, until: datetime, limit: int) -> list[Due]:
        with self._transaction() as books:
            runs = _on_schedule(books, before=until)
            found = nsmallest(limit, (run.run_id for run in runs if run.run_id > after))
            return [due_of(books.runs[run_id]) for run_id in found]

    def unclaimed(self, until: datetime) -> Due | None:
        with self._transaction() as books:
            called = [
                run
                for run in books.runs.values()
                if run.wake_at is not None
                and run.wake_at <= until
                and (run.state, run.fence) == (RunState.SCHEDULED, 0)
                and run.origin == BY_SCHEDULE
                and not run.excused
            ]
            return due_of(min(called, key=lambda run: run.run_id)) if called else None

    def wake(self, until: datetime, limit: int) -> list[Due]:
        with self._transaction() as books:
            asleep = (
                (run.wake_at, run.run_id)
                for run in books.runs.values()
                if run.state in _AWAKENED and run.wake_at is not None and run.wake_at <= until
            )
            return [_wake_one(books, books.runs[run_id]) for _, run_id in nsmallest(limit, asleep)]

    def cursor(self) -> Cursor:
        with self._transaction() as books:
            return books.loading[LOADING]

    def move_cursor(self, lease: Lease, loaded_to: datetime) -> None:
        with self._transaction() as books:
            check_lease(books, lease)
            books.loading[LOADING] = Cursor(loaded_to, books.loading[LOADING].watermark)

    def advance_watermark(self, lease: Lease, to: datetime) -> Cursor:
        with self._transaction() as books:
            check_lease(books, lease)
            if books.loading[LOADING].watermark < to <= books.now - PASSED_AFTER:
                _pass(books, to)
            return books.loading[LOADING]


def _pass(books: Books, to: datetime) -> None:
    """Wake what is unclaimed; jitter is not cut short by that."""
    for run in list(_on_schedule(books, before=to)):
        call = max(books.now, run.due_at)
        books.runs[run.run_id] = msgspec.structs.replace(run, wake_at=call)
    books.loading[LOADING] = Cursor(books.loading[LOADING].loaded_to, to)


def _still_stands(books: Books, planned: Planned) -> bool:
    seen = Standing(planned.seen_fire, planned.version)
    return books.schedules.get(planned.job.job_id) == seen


def _write_one(books: Books, planned: Planned) -> list[Run]:
    job = books.jobs[planned.job.job_id]
    stand_at(books, job, planned.next_fire_at)
    for missed in planned.missed:
        write_missed(books, job, missed)
    fires = planned.fires
    return write_down(
        books, [run for fire in fires for run in new_runs(job, fire, blocked=bool(job.after))]
    )


def _on_schedule(books: Books, *, before: datetime) -> Iterable[Run]:
    bound = first_run_id(before)
    return (
        run
        for run in books.runs.values()
        if run.state is RunState.SCHEDULED and run.wake_at is None and run.run_id < bound
    )


def _wake_one(books: Books, run: Run) -> Due:
    call = run.wake_at or books.now
    again = max(call, books.now) + WAKE_AGAIN
    books.runs[run.run_id] = msgspec.structs.replace(run, wake_at=again)
    return msgspec.structs.replace(due_of(run), due_at=max(call, run.due_at))
