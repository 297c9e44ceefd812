"""Upkeep: days made ready for runs, and whole days retired."""

from datetime import date, datetime, timedelta

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
    for job_id in {run.job_id for run in runs}:
        _forget_finished(books, books.jobs[job_id])
    del books.days[day]
    return True


def _forget_run(books: Books, run: Run) -> None:
    del books.runs[run.run_id]
    del books.runs_of[run.job_id][run.run_id]
    books.attempts.pop(run.run_id, None)


def _forget_finished(books: Books, job: Job) -> None:
    """A job that fired once leaves with its history, unless another still refers to it."""
    job_id = job.job_id
    awaited = job.repeats or job_id in books.schedules or books.runs_of[job_id]
    if awaited or books.dependents_of[job_id]:
        return
    for upstream in upstream_ids(job):
        del books.dependents_of[upstream][job_id]
    del books.jobs[job_id]
    del books.identities[job_id]
    books.versions.pop(job_id, None)
