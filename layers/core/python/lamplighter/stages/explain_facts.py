"""What Explain has to know, looked up: upstreams, workers, the fire to come."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Attempt, Run, Verdict
from lamplighter.domain.schedule import next_fire
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_queries import LAST_ID, LONGEST_PAGE, RunFilter
from lamplighter.stages.desk import Desk
from lamplighter.stages.explain import Facts, Upstream
from lamplighter.stages.stats import SILENT_AFTER

_EXPLAINED_UPSTREAMS: Final = 6


def facts_of(desk: Desk, job: Job, run: Run | None, now: datetime) -> Facts:
    until = now if run is None else max(now, run.fire_at)
    upstreams = tuple(
        _upstream(desk, job.tenant, UUID(edge.job_id), until)
        for edge in job.after[:_EXPLAINED_UPSTREAMS]
    )
    live = None
    if run is not None and run.state is RunState.SCHEDULED and run.due_at <= now:
        crews = desk.ledger.count_workers(now - SILENT_AFTER)
        live = sum(each.workers for each in crews if each.pool == run.pool)
    return Facts(now, _fire_to_come(desk, job, now), upstreams, live, _last_attempt(desk, run))


def _fire_to_come(desk: Desk, job: Job, now: datetime) -> datetime | None:
    """The next that is still to run: those whose runs were cancelled ahead of time are over."""
    fire = fire_by_schedule(desk, job)
    where = RunFilter(job.job_id, since=now)
    ahead = desk.ledger.list_runs(job.tenant, where, LAST_ID, LONGEST_PAGE).items
    planned = [run for run in ahead if run.origin == BY_SCHEDULE]
    still_open = {run.fire_at for run in planned if not run.state.is_final}
    over = {run.fire_at for run in planned} - still_open
    while fire is not None and fire in over:
        fire = next_fire(job.schedule, fire, desk.calendars(job.tenant, job.schedule))
    return fire


def _last_attempt(desk: Desk, run: Run | None) -> Attempt | None:
    """What was noted of a cancelled run's last start; None if it went on until the cancel."""
    if run is None or run.state is not RunState.CANCELLED or run.start_time is None:
        return None
    noted = desk.ledger.attempts(run.tenant, run.run_id)
    same = [each for each in noted if each.started_at == run.start_time]
    return next((each for each in same if each.verdict != Verdict.CANCELLED.value), None)


def _upstream(desk: Desk, tenant: str, job_id: UUID, until: datetime) -> Upstream:
    job = desk.ledger.job(tenant, job_id)
    where = RunFilter(job_id, until=until + timedelta(milliseconds=1))
    found = desk.ledger.list_runs(tenant, where, LAST_ID, 1).items
    return Upstream(job.name, found[0].state.name if found else None)


def fire_by_schedule(desk: Desk, job: Job) -> datetime | None:
    if job.status is not JobStatus.SCHEDULED or job.schedule.schedule_type is ScheduleType.AFTER:
        return None
    return next_fire(job.schedule, desk.now(), desk.calendars(job.tenant, job.schedule))
