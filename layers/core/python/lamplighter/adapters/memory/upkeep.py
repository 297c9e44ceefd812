"""Upkeep: days made ready for runs, and whole days retired."""

from datetime import date, datetime, timedelta
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.dependents import upstream_ids
from lamplighter.domain.job import Job
from lamplighter.domain.run import Run


class MemoryUpkeep(Transactional):
    def ensure_partitions(self, first: datetime, last: datetime) -> None:
        with self._transaction() as books:
            day = first.date()
            while day <= last.date():
                books.days[day] = True
                day += timedelta(days=1)

    def drop_partitions(self, before: datetime) -> list[str]:
        with self._transaction() as books:
            old = sorted(day for day in books.days if day < before.date())
            return [f"job_runs_{day:%Y%m%d}" for day in old if _retire(books, day)]


def _retire(books: Books, day: date) -> bool:
    runs = [run for run in books.runs.values() if run.fire_at.date() == day]
    if not all(run.state.is_final for run in runs):
        return False
    for run in runs:
        _forget_run(books, run)
    _forget_finished(books, {run.job_id for run in runs})
    del books.days[day]
    return True


def _forget_run(books: Books, run: Run) -> None:
    del books.runs[run.run_id]
    del books.runs_of[run.job_id][run.run_id]
    books.attempts.pop(run.run_id, None)


def _forget_finished(books: Books, job_ids: set[UUID]) -> None:
    """Jobs that fired once leave with their history, dependents first, so that whole graphs can."""
    while leaving := [job_id for job_id in job_ids if _may_leave(books, job_id)]:
        above = {up for job_id in leaving for up in upstream_ids(books.jobs[job_id])}
        for job_id in leaving:
            _forget_job(books, books.jobs[job_id])
        job_ids = (job_ids | above) - set(leaving)


def _may_leave(books: Books, job_id: UUID) -> bool:
    fires = books.jobs[job_id].repeats or job_id in books.schedules or books.runs_of[job_id]
    return not fires and not books.dependents_of[job_id]


def _forget_job(books: Books, job: Job) -> None:
    for upstream in upstream_ids(job):
        del books.dependents_of[upstream][job.job_id]
    del books.jobs[job.job_id]
    del books.identities[job.job_id]
    books.versions.pop(job.job_id, None)
