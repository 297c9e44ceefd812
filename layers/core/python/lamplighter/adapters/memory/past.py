"""The fires that nobody planned in time, told of before the schedule changes that had them."""

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import block, followers, judge_blocked
from lamplighter.adapters.memory.first_fire import stand_at
from lamplighter.adapters.memory.missed import write_missed
from lamplighter.adapters.memory.runs import write_down
from lamplighter.domain.job import Job
from lamplighter.domain.lag import lag_of
from lamplighter.domain.run import new_runs
from lamplighter.domain.schedule import Settlement
from lamplighter.ports.ledger import Missed


def settle_past(books: Books, job: Job) -> Settlement | None:
    """The schedule stands ahead of now then. None: there were no such fires."""
    standing = books.schedules.get(job.job_id)
    if standing is None or standing.next_fire_at > books.now:
        return None
    lag = lag_of(job, standing.next_fire_at, books.now, books.calendars_of(job.tenant))
    past, blocked = lag.settled, bool(job.after)
    stand_at(books, job, past.next_fire_at)
    for gap in past.missed:
        write_missed(books, job, Missed(gap.from_fire, gap.to_fire, gap.count, lag.reason))
    new = [run for fire in past.run for run in new_runs(job, fire, blocked=blocked)]
    runs = write_down(books, new) + block(books, followers(books, [job.job_id]))
    judge_blocked(books, [run.run_id for run in runs])
    return past
