"""Jobs and submissions in the fewest words: a test names only what it is about."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from lamplighter.domain.job import Job
from lamplighter.domain.policy import EdgeRule, ScheduleType, Upstream
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule

TENANT = "acme"
OTHER_TENANT = "umbrella"
HOUR = timedelta(hours=1)


def job(schedule: Schedule, **fields: Any) -> Job:
    given: dict[str, Any] = {"job_id": uuid4(), "name": "a job", "tenant": TENANT, **fields}
    return Job(schedule=schedule, **given)


def one_off(fire: datetime, *, fingerprint: bytes | None = None, **fields: Any) -> Submission:
    schedule = Schedule(ScheduleType.FUTURE, schedule_time=fire)
    return Submission(job(schedule, **fields), fire, None, fingerprint)


def hourly(fire: datetime, *, timing: dict[str, Any] | None = None, **fields: Any) -> Submission:
    """Every hour, anchored at `fire`, which is also the first that the ledger gets to see."""
    schedule = Schedule(
        ScheduleType.INTERVAL, interval_seconds=3600, start_at=fire - 1000 * HOUR, **(timing or {})
    )
    return Submission(job(schedule, **fields), fire, fire + HOUR)


def following(
    *upstreams: Submission | Job | UUID | Upstream,
    fingerprint: bytes | None = None,
    **fields: Any,
) -> Submission:
    """A job without a schedule of its own, after these."""
    after = tuple(edge(upstream) for upstream in upstreams)
    made = job(Schedule(ScheduleType.AFTER), after=after, **fields)
    return Submission(made, fingerprint=fingerprint)


def edge(
    upstream: Submission | Job | UUID | Upstream,
    rule: EdgeRule = EdgeRule.SAME_FIRE,
    within_seconds: int | None = None,
) -> Upstream:
    if isinstance(upstream, Upstream):
        return upstream
    if isinstance(upstream, Submission):
        upstream = upstream.job
    job_id = upstream.job_id if isinstance(upstream, Job) else upstream
    return Upstream(str(job_id), rule, within_seconds)
