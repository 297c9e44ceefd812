"""The fires that nobody planned in time, told of before the schedule changes that had them."""

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import block, followers
from lamplighter.adapters.memory.missed import write_missed
from lamplighter.adapters.memory.runs import write_down
from lamplighter.domain.job import Job
from lamplighter.domain.run import new_runs
from lamplighter.domain.schedule import settle_all
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import Missed


def settle_past(books: Books, job: Job) -> None:
    standing = books.schedules.get(job.job_id)
    if standing is None or standing.next_fire_at > books.now:
        return
    calendars = books.calendars_of(job.tenant)
    past = settle_all(job.schedule, standing.next_fire_at, books.now, calendars)
    for gap in past.missed:
        reason = SkipReason.MISSED_WINDOW
        write_missed(books, job, Missed(gap.from_fire, gap.to_fire, gap.count, reason))
    blocked = bool(job.after)
    write_down(books, [run for fire in past.run for run in new_runs(job, fire, blocked=blocked)])
    block(books, followers(books, [job.job_id]))
