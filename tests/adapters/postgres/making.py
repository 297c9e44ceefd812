"""Jobs and runs for these tests, made with as few words as possible."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from lamplighter.domain.ids import new_job_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType, Upstream
from lamplighter.domain.run import Outcome, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.ledger import Ledger

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

_names = count(1)


def utc_now() -> datetime:
    """Whole milliseconds, as fires have."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def fresh(word: str) -> str:
    """A name that no other test uses: tenants keep tests in one database apart."""
    return f"{word}-{next(_names)}"


def once(fire: datetime, **fields: Any) -> Job:
    schedule = Schedule(ScheduleType.FUTURE, schedule_time=fire)
    return Job(job_id=new_job_id(fire), name="once", schedule=schedule, **fields)


def every_minute(start: datetime, **fields: Any) -> Job:
    schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=60.0, start_at=start)
    return Job(job_id=new_job_id(start), name="often", schedule=schedule, repeats=True, **fields)


def after(*upstreams: Job, **fields: Any) -> Job:
    edges = tuple(Upstream(str(upstream.job_id)) for upstream in upstreams)
    schedule = Schedule(ScheduleType.AFTER)
    return Job(job_id=new_job_id(utc_now()), name="after", schedule=schedule, after=edges, **fields)


def submit_once(ledger: Ledger, fire: datetime, **fields: Any) -> tuple[Job, Ticket]:
    """A job that fires once, with a ticket for its run."""
    job = once(fire, **fields)
    [due] = ledger.submit([Submission(job, first_fire=fire)]).runs
    return job, Ticket(due.run_id, due.fence)


def submit_many(ledger: Ledger, fires: Iterable[datetime], **fields: Any) -> list[Ticket]:
    given = [Submission(once(fire, **fields), first_fire=fire) for fire in fires]
    return [Ticket(due.run_id, due.fence) for due in ledger.submit(given).runs]


def submit_often(ledger: Ledger, first: datetime, **fields: Any) -> tuple[Job, Ticket]:
    """A job that fires every minute, its first run written, the next one still to be planned."""
    job = every_minute(first, **fields)
    [due] = ledger.submit([Submission(job, first_fire=first, next_fire=first + MINUTE)]).runs
    return job, Ticket(due.run_id, due.fence)


def run_now(ledger: Ledger, job: Job) -> Ticket:
    """A run beside the schedule, due at once."""
    [due] = ledger.add_run(job.tenant, job.job_id, fresh("now:"), utc_now())
    return Ticket(due.run_id, due.fence)


def claim_one(ledger: Ledger, ticket: Ticket, worker: str) -> int:
    """Claim this run, which nothing stands in the way of; answers with the fence."""
    [claimed] = ledger.claim(worker, new_job_id(utc_now()), [ticket]).claimed
    return claimed.fence


def success(run_id: UUID, fence: int) -> Outcome:
    return Outcome(run_id=run_id, fence=fence, verdict=Verdict.SUCCESS)


def failure(run_id: UUID, fence: int) -> Outcome:
    return Outcome(run_id=run_id, fence=fence, verdict=Verdict.FAILED, error="it broke")
