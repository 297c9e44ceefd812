"""Upkeep: days made ready for runs, and whole days retired."""

from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.dependents import upstream_ids
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.retention import versions_until
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

    def forget_before(self, before: datetime) -> None:
        with self._transaction() as books:
            for key in [key for key in books.minutes if key[0] < before]:
                del books.minutes[key]
            _forget_versions(books, before)
            _forget_ended(books, before)


def _forget_versions(books: Books, before: datetime) -> None:
    oldest = datetime.combine(min(books.days), time(tzinfo=UTC)) if books.days else None
    until = versions_until(before, oldest)
    for job_id, versions in list(books.versions.items()):
        ends = [job.updated_at for job in (*versions[1:], books.jobs[job_id])]
        kept = [each for each, end in zip(versions, ends, strict=True) if not end or end >= until]
        books.versions[job_id] = tuple(kept)


def _forget_ended(books: Books, before: datetime) -> None:
    """Cancelled or refused, and without history: no day takes these with it."""
    ended = [job for job in books.jobs.values() if job.status >= JobStatus.CANCELLED]
    old = [job for job in ended if job.updated_at and job.updated_at < before]
    for job in old:
        idle = job.job_id not in books.schedules and not books.runs_of[job.job_id]
        if idle and not books.dependents_of[job.job_id]:
            _forget_job(books, job)


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
