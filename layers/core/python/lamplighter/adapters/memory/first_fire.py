"""Where a job's first fires go: into the ledger if their day is ready, else they stay planned."""

from datetime import datetime

from lamplighter.adapters.memory.books import Books, Standing
from lamplighter.adapters.memory.runs import is_ready, write_down
from lamplighter.domain.job import Job
from lamplighter.domain.run import Run, new_runs


def place_first_fire(
    books: Books, job: Job, first_fire: datetime | None, next_fire: datetime | None
) -> list[Run]:
    if first_fire is not None and not is_ready(books, first_fire):
        stand_at(books, job, first_fire)
        return []
    stand_at(books, job, next_fire)
    if first_fire is None:
        return []
    return write_down(books, new_runs(job, first_fire, blocked=bool(job.after)))


def stand_at(books: Books, job: Job, next_fire: datetime | None) -> None:
    """Move a job's schedule to its next fire; one that has none left leaves the table."""
    if next_fire is not None:
        books.schedules[job.job_id] = Standing(next_fire, job.version)
    else:
        books.schedules.pop(job.job_id, None)
