"""Change: people change their minds. Every change is one transaction of the ledger."""

import hashlib
import logging
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.contracts.answers import job_answer
from lamplighter.contracts.http import Request, Response
from lamplighter.contracts.http_checks import check_instant
from lamplighter.contracts.http_decode import decode
from lamplighter.contracts.http_job import changed_job
from lamplighter.contracts.http_keys import expected_version, key_of
from lamplighter.contracts.jobs import BackfillBody, EmptyBody, JobBody
from lamplighter.domain.errors import InvalidJob, VersionConflict
from lamplighter.domain.ids import MILLISECOND, epoch_ms, instant_of, new_job_id
from lamplighter.domain.job import Job
from lamplighter.domain.run import Due
from lamplighter.domain.schedule import count_fires, fires_between
from lamplighter.ports.ledger_queries import LAST_ID, RunFilter
from lamplighter.stages.desk import SOON, Desk, Timing, Timings, fires_from

_log = logging.getLogger("lamplighter.change")
_TRIES: Final = 3
# Our clock is the ledger's, give or take a few milliseconds. A fire of this moment must not fall
# between what the ledger removes as future and what we think comes next; written twice it is one.
_CLOCK_MARGIN: Final = timedelta(seconds=1)
# How long a key of runNow is remembered.
_SAME_KEY: Final = timedelta(days=1)
_FURTHEST_BACK: Final = timedelta(days=366)


def change(desk: Desk, tenant: str, job_id: UUID, body: JobBody, version: int | None) -> Job:
    """A partial edit. Without a version it is laid over whatever the job is by then."""
    for last_try in (*[False] * (_TRIES - 1), True):
        before = desk.ledger.job(tenant, job_id)
        if version is not None and version != before.version:
            raise VersionConflict(
                f"the job is at version {before.version}, not {version}; read it, then change it"
            )
        try:
            return _replace(desk, before, changed_job(before, body))
        except VersionConflict:
            if version is not None or last_try:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _replace(desk: Desk, before: Job, after: Job) -> Job:
    if after == before:
        return before
    if after.target is not None and after.target != before.target:
        desk.check_target(after.target)
    now = desk.now()
    timing = _timing(desk, before, after, now)
    kept = desk.ledger.reschedule(
        msgspec.structs.replace(after, schedule=timing.schedule),
        expected_version=before.version,
        first_fire=timing.first_fire,
        next_fire=timing.next_fire,
    )
    _tell_of_first_run(desk, kept, timing, now)
    return kept


def _timing(desk: Desk, before: Job, after: Job, now: datetime) -> Timing:
    if after.schedule != before.schedule:
        return Timings(desk, after.tenant, now).of_new(after.schedule)
    schedule, since = before.schedule, now - _CLOCK_MARGIN
    if schedule.schedule_time is not None and schedule.schedule_time < since:
        return Timing(schedule, None, None)  # a one-off that has had its fire
    return fires_from(schedule, since, desk.calendars(after.tenant, schedule))


def _tell_of_first_run(desk: Desk, job: Job, timing: Timing, now: datetime) -> None:
    """Read it back: whether its day was ready, and how jitter delays it, only the ledger knows."""
    if timing.first_fire is None or job.after or timing.first_fire > now + SOON:
        return
    page = desk.ledger.list_runs(
        job.tenant,
        RunFilter(job.job_id, since=timing.first_fire, until=timing.first_fire + MILLISECOND),
        LAST_ID,
        len(job.pools) + 1,
    )
    due = [
        Due(run.run_id, run.tenant, run.pool, run.priority, run.due_at, run.fence)
        for run in page.items
    ]
    desk.tell_queue(due, now)


def run_now(desk: Desk, tenant: str, job_id: UUID, key: str | None) -> list[UUID]:
    """A run beside the schedule, one per pool. The same key again: the same runs."""
    now = desk.now()
    origin = f"now:{key or new_job_id(now)}"
    if key is not None:
        where = RunFilter(job_id, origin=origin, since=now - _SAME_KEY)
        known = desk.ledger.list_runs(tenant, where, LAST_ID, 100).items
        if known:
            return [run.run_id for run in known]
    runs = desk.ledger.add_run(tenant, job_id, origin, instant_of(epoch_ms(now)))
    desk.tell_queue(runs, now)
    return [run.run_id for run in runs]


class Backfill(msgspec.Struct, frozen=True):
    """What was made: the budget travels in the runs' origin, for whoever lets them start."""

    backfill_id: str
    origin: str
    fires: list[datetime]
    run_ids: list[UUID]


def backfill(
    desk: Desk, tenant: str, job_id: UUID, asked: BackfillBody, key: str | None
) -> Backfill:
    """Runs for the fires of a past range, beside the schedule."""
    now = desk.now()
    job = desk.ledger.job(tenant, job_id)
    fires = _past_fires(desk, job, asked, now)
    named = f"{job_id}\0{key or new_job_id(now)}"
    backfill_id = hashlib.sha256(named.encode()).hexdigest()[:12]
    origin = f"backfill:{backfill_id}:at_once={asked.at_once}"
    runs = [run for fire in fires for run in desk.ledger.add_run(tenant, job_id, origin, fire)]
    desk.tell_queue(runs, now)
    _log.info("backfill %s of job %s: %d fires", origin, job_id, len(fires))
    return Backfill(backfill_id, origin, fires, [run.run_id for run in runs])


def _past_fires(desk: Desk, job: Job, asked: BackfillBody, now: datetime) -> list[datetime]:
    if not job.schedule.schedule_type.is_recurring:
        raise InvalidJob("schedule_type", "only a CRON or INTERVAL job has past fires to make up")
    end = asked.end or now
    for field, moment in (("start", asked.start), ("end", end)):
        check_instant(field, moment)
    if end > now:
        raise InvalidJob("end", "it is to come; the schedule itself sees to what is to come")
    if not now - _FURTHEST_BACK <= asked.start < end:
        raise InvalidJob("start", "give a time before end, and not more than 366 days ago")
    calendars = desk.calendars(job.tenant, job.schedule)
    count = count_fires(job.schedule, asked.start, end, calendars)
    if count > asked.max_runs:
        raise InvalidJob(
            "max_runs", f"the range holds {count:,} fires, over {asked.max_runs:,}; narrow it"
        )
    return fires_between(job.schedule, asked.start, end, calendars=calendars)


def put_job(desk: Desk, request: Request) -> Response:
    body = decode(request.json(), JobBody)
    version = expected_version(request)
    job = change(desk, request.tenant, request.id("job_id"), body, version)
    return Response(HTTPStatus.OK, job_answer(job, desk.show_target), {"ETag": f'"{job.version}"'})


def delete_job(desk: Desk, request: Request) -> Response:
    return _status(desk.ledger.cancel_job(request.tenant, request.id("job_id")))


def post_pause(desk: Desk, request: Request) -> Response:
    decode(request.json_or_nothing(), EmptyBody)
    return _status(desk.ledger.pause(request.tenant, request.id("job_id")))


def post_resume(desk: Desk, request: Request) -> Response:
    decode(request.json_or_nothing(), EmptyBody)
    return _status(desk.ledger.resume(request.tenant, request.id("job_id")))


def post_run_now(desk: Desk, request: Request) -> Response:
    decode(request.json_or_nothing(), EmptyBody)
    job_id = request.id("job_id")
    run_ids = run_now(desk, request.tenant, job_id, key_of(request))
    return Response(HTTPStatus.ACCEPTED, {"job_id": job_id, "run_ids": run_ids})


def post_backfill(desk: Desk, request: Request) -> Response:
    asked = decode(request.json(), BackfillBody)
    job_id = request.id("job_id")
    made = backfill(desk, request.tenant, job_id, asked, key_of(request))
    body = {
        "job_id": job_id,
        "backfill_id": made.backfill_id,
        "fires": len(made.fires),
        "at_once": asked.at_once,
        "run_ids": made.run_ids,
    }
    return Response(HTTPStatus.ACCEPTED, body)


def _status(job: Job) -> Response:
    body = {"job_id": job.job_id, "status": job.status.name, "version": job.version}
    return Response(HTTPStatus.OK, body, {"ETag": f'"{job.version}"'})
