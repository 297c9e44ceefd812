"""Runs as they are written down, changed and taken out again; slots follow every change."""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from lamplighter.adapters.memory import slots
from lamplighter.adapters.memory.books import Books
from lamplighter.domain.ids import fire_of
from lamplighter.domain.judge import expiry
from lamplighter.domain.run import Due, NewRun, Recorded, Run, Settled, stands
from lamplighter.domain.slots import KEPT_WHILE_WAITING
from lamplighter.domain.states import RunState
from lamplighter.domain.trigger import blocked_until

# The load cursor may have passed a fire that is written down later than this.
BORN_LATE = timedelta(seconds=2)


def is_ready(books: Books, fire: datetime) -> bool:
    return books.days.get(fire.date(), False)


def write_down(books: Books, new: Iterable[NewRun]) -> list[Run]:
    """Those of the runs that were not there yet, now written."""
    fresh = {each.run_id: each for each in new if each.run_id not in books.runs}
    return [_insert(books, each) for each in fresh.values()]


def _insert(books: Books, new: NewRun) -> Run:
    run = _first_record(new, books.now)
    if run.state is RunState.PARKED:
        run = msgspec.structs.replace(run, wake_at=expiry(run, new.job))
    enter(books, run)
    slots.queue_in_order(books, new.job, run)
    if run.state is RunState.PARKED:
        slots.queue_in_lane(books, new.job, run)
    return run


def enter(books: Books, run: Run) -> None:
    """Its day is made if need be: backfill and catch-up reach far back."""
    books.days.setdefault(run.fire_at.date(), False)
    books.runs[run.run_id] = run
    books.runs_of[run.job_id][run.run_id] = None


def _first_record(new: NewRun, now: datetime) -> Run:
    fire = fire_of(new.run_id)
    due = fire + timedelta(milliseconds=new.delay_ms)
    return Run(
        run_id=new.run_id,
        job_id=new.job.job_id,
        tenant=new.job.tenant,
        pool=new.pool,
        origin=new.origin,
        state=new.state,
        fire_at=fire,
        due_at=due,
        priority=new.job.priority,
        fence=0,
        attempt_number=1,
        losses=0,
        created_at=now,
        modified_time=now,
        wake_at=_first_call(new, due, now),
    )


def _first_call(new: NewRun, due: datetime, now: datetime) -> datetime | None:
    """When to look at it again: a blocked run when it has waited too long, a late one at once."""
    if new.state is RunState.BLOCKED:
        bound = timedelta(seconds=new.job.policy.blocked_seconds)
        return blocked_until(fire=fire_of(new.run_id), blocked_at=now, bound=bound)
    return max(now, due) if fire_of(new.run_id) < now - BORN_LATE else None


def put(books: Books, run: Run) -> Run:
    """Change a run. What has ended leaves every slot and queue; what waits again, its limit."""
    before = books.runs[run.run_id].state
    books.runs[run.run_id] = run
    if run.state is RunState.CANCELLING:
        books.stopping[run.run_id] = run.executor_id or ""
    elif run.state.is_final:
        books.stopping.pop(run.run_id, None)
        slots.leave(books, run)
    elif before is RunState.RUNNING:
        slots.leave(books, run, kept=KEPT_WHILE_WAITING)
    return run


def remove(books: Books, run: Run) -> None:
    """Take out a run whose time has not come: its job has changed its mind."""
    slots.leave(books, run)
    del books.runs[run.run_id]
    del books.runs_of[run.job_id][run.run_id]


def due_of(run: Run) -> Due:
    return Due(run.run_id, run.tenant, run.pool, run.priority, run.due_at, run.fence)


def still_scheduled(books: Books, runs: Iterable[Run]) -> list[Due]:
    """As they stand now: judging may have freed or ended some since they were written."""
    present = (books.runs[run.run_id] for run in runs)
    return [due_of(run) for run in present if run.state is RunState.SCHEDULED]


def answer(run: Run, recorded: Recorded) -> Settled:
    return stands(run, recorded)
