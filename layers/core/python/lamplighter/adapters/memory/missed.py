"""Fires that will not run: one row for consecutive ones, ended as soon as it is written."""

from datetime import timedelta

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.runs import enter
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import Job
from lamplighter.domain.run import NewRun, Run, new_runs
from lamplighter.domain.schedule import Missed as Gap
from lamplighter.domain.schedule import missed_after
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Missed


def write_missed(books: Books, job: Job, missed: Missed) -> None:
    """In each pool, under the id of the first fire. Nobody waits for these: dependents get none."""
    for pool in job.pools:
        _write_in_pool(books, job, pool, missed)


def _write_in_pool(books: Books, job: Job, pool: str, missed: Missed) -> None:
    """Where the first fire has a run, the row begins with a later one: none goes untold."""
    calendars = books.calendars_of(job.tenant)
    left: Gap | None = Gap(missed.first, missed.last, missed.count)
    while left is not None:
        [new] = [run for run in new_runs(job, left.from_fire) if run.pool == pool]
        there = books.runs.get(new.run_id)
        if there is None:
            rest = Missed(left.from_fire, left.to_fire, left.count, missed.reason)
            enter(books, _record(books, new, rest))
            return
        told_to = there.missed_to or there.fire_at
        left = missed_after(job.schedule, told_to, missed.last, calendars)


def _record(books: Books, new: NewRun, missed: Missed) -> Run:
    fire = fire_of(new.run_id)
    return Run(
        run_id=new.run_id,
        job_id=new.job.job_id,
        tenant=new.job.tenant,
        pool=new.pool,
        origin=new.origin,
        state=RunState.SKIPPED,
        fire_at=fire,
        due_at=fire + timedelta(milliseconds=new.delay_ms),
        priority=new.job.priority,
        fence=0,
        attempt_number=1,
        losses=0,
        created_at=books.now,
        modified_time=books.now,
        end_time=books.now,
        reason=missed.reason,
        missed_to=missed.last,
        missed_count=missed.count,
    )
