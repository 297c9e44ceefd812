"""Changed minds: cancel, pause, resume."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books, Standing
from lamplighter.adapters.memory.dependents import is_awaited, tell_dependents
from lamplighter.adapters.memory.first_fire import stand_at
from lamplighter.adapters.memory.graph import keep
from lamplighter.adapters.memory.past import settle_past
from lamplighter.adapters.memory.runs import answer, put, remove
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.errors import JobEnded
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import Recorded, Run, Settled
from lamplighter.domain.states import RunState


class MemoryChanges(Transactional):
    def cancel_runs(self, tenant: str, run_ids: Sequence[UUID]) -> list[Settled]:
        with self._transaction() as books:
            return [_cancel_one(books, tenant, run_id) for run_id in run_ids]

    def cancel_job(self, tenant: str, job_id: UUID) -> Job:
        with self._transaction() as books:
            job = books.job(tenant, job_id)
            if job.status >= JobStatus.CANCELLED:
                return job
            job = _become(books, job, JobStatus.CANCELLED)
            stand_at(books, job, None)
            stopped = [_stop(books, run) for run in books.runs_of_job(job_id)]
            tell_dependents(books, [run for run in stopped if run and run.state.is_final])
            return job

    def pause(self, tenant: str, job_id: UUID) -> Job:
        with self._transaction() as books:
            return _switch(books, books.job(tenant, job_id), JobStatus.PAUSED)

    def resume(self, tenant: str, job_id: UUID) -> Job:
        with self._transaction() as books:
            return _switch(books, books.job(tenant, job_id), JobStatus.SCHEDULED)


def _cancel_one(books: Books, tenant: str, run_id: UUID) -> Settled:
    run = books.runs.get(run_id)
    if run is None or run.tenant != tenant:
        return Settled(run_id, None, Recorded.STALE, None)
    if run.state.is_final or run.state is RunState.CANCELLING:
        return answer(run, Recorded.REPEATED)
    return answer(_cancel(books, run), Recorded.ACCEPTED)


def _cancel(books: Books, run: Run) -> Run:
    """End what waits; what runs is asked to stop, and ends when its worker says so."""
    if run.state is RunState.RUNNING:
        return put(books, transitions.cancelling(run, books.now))
    return put(books, transitions.cancelled(run, books.now))


def _stop(books: Books, run: Run) -> Run | None:
    """A run of a cancelled job; None if it was taken out, or had ended before."""
    if run.state.is_final or run.state is RunState.CANCELLING:
        return None
    waits = run.state in (RunState.SCHEDULED, RunState.BLOCKED) and run.start_time is None
    # One that others wait for stays, cancelled: they must learn that it will not come.
    ahead = run.origin == BY_SCHEDULE and run.fire_at > books.now
    if waits and ahead and not is_awaited(books, run):
        remove(books, run)
        return None
    return _cancel(books, run)


def _switch(books: Books, job: Job, status: JobStatus) -> Job:
    if job.status >= JobStatus.CANCELLED:
        raise JobEnded(f"job {job.job_id} has ended; submit a new one")
    return job if job.status is status else _become(books, job, status)


def _become(books: Books, job: Job, status: JobStatus) -> Job:
    settle_past(books, job)
    changed = msgspec.structs.replace(
        job, status=status, version=job.version + 1, updated_at=books.now
    )
    standing = books.schedules.get(job.job_id)
    if standing is not None:
        books.schedules[job.job_id] = Standing(standing.next_fire_at, changed.version)
    return keep(books, changed)
