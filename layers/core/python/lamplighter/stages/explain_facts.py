"""What Explain has to know, looked up: upstreams, workers, the fire to come."""

from datetime import datetime
from itertools import islice
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.domain.ids import BY_SCHEDULE, MILLISECOND
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
    upstreams = tuple(_upstreams(desk, job, run, now))
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


def _upstreams(desk: Desk, job: Job, run: Run | None, now: datetime) -> list[Upstream]:
    ids = [UUID(edge.job_id) for edge in job.after]
    if run is not None and run.state is RunState.BLOCKED and run.origin != BY_SCHEDULE:
        # It waits for those that were asked for with it, and for no others.
        with_it = RunFilter(origin=run.origin, since=run.fire_at, until=run.fire_at + MILLISECOND)
        asked = (_upstream(desk, job.tenant, up, with_it) for up in ids)
        return list(islice((each for each in asked if each.status), _EXPLAINED_UPSTREAMS))
    until = (now if run is None else max(now, run.fire_at)) + MILLISECOND
    return [
        _upstream(desk, job.tenant, up, RunFilter(until=until)) for up in ids[:_EXPLAINED_UPSTREAMS]
    ]


def _upstream(desk: Desk, tenant: str, job_id: UUID, where: RunFilter) -> Upstream:
    job = desk.ledger.job(tenant, job_id)
    its_own = msgspec.structs.replace(where, job_id=job_id)
    found = desk.ledger.list_runs(tenant, its_own, LAST_ID, 1).items
    return Upstream(job.name, found[0].state.name if found else None)


def fire_by_schedule(desk: Desk, job: Job) -> datetime | None:
    if job.status is not JobStatus.SCHEDULED or job.schedule.schedule_type is ScheduleType.AFTER:
        return None
    return next_fire(job.schedule, desk.now(), desk.calendars(job.tenant, job.schedule))
