"""Fires that will not run: one row for consecutive ones, ended as soon as it is written."""

from datetime import timedelta

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.runs import enter
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import Job
from lamplighter.domain.run import NewRun, Run, new_runs
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Missed


def write_missed(books: Books, job: Job, missed: Missed) -> None:
    """In each pool, under the id of the first fire. Nobody waits for these: dependents get none."""
    for new in new_runs(job, missed.first):
        if new.run_id not in books.runs:
            enter(books, _record(books, new, missed))


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
