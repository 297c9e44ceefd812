"""Change: people change their minds. Every change is one transaction of the ledger."""

import hashlib
import logging
from collections.abc import Callable
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
from lamplighter.contracts.http_keys import expected_version
from lamplighter.contracts.jobs import BackfillBody, EmptyBody, JobBody, RunNowBody
from lamplighter.domain.errors import InvalidJob, VersionConflict
from lamplighter.domain.ids import MILLISECOND, epoch_ms, instant_of, new_job_id
from lamplighter.domain.job import Job
from lamplighter.domain.run import Due, Recorded, new_runs, stands
from lamplighter.domain.schedule import count_fires, fires_between
from lamplighter.domain.slots import backfill_origin
from lamplighter.domain.states import RunState
from lamplighter.domain.target import revealed
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.ledger_queries import LAST_ID, LONGEST_PAGE, RunFilter
from lamplighter.stages.desk import Desk, Timing, Timings, fires_from
from lamplighter.stages.once import Occasion, once

_log = logging.getLogger("lamplighter.change")
# Each one that fails is an edit of somebody else that went through: as many may ask at once.
_TRIES: Final = 64
# Our clock is the ledger's, give or take a few milliseconds. A fire of this moment must not fall
# between what the ledger removes as future and what we think comes next; written twice it is one.
_CLOCK_MARGIN: Final = timedelta(seconds=1)
_FURTHEST_BACK: Final = timedelta(days=366)
_STOPPED: Final = (RunState.CANCELLED, RunState.CANCELLING)


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
    if after.target is not None and after.target != before.target:
        after = msgspec.structs.replace(after, target=revealed(after.target, before.target))
    if after == before:
        return before
    if after.target is not None and after.target != before.target:
        desk.check_target(after.target)
    if after.pools != before.pools:
        desk.check_pools(after)
    now = desk.now()
    timing = _timing(desk, before, after, now)
    kept = desk.ledger.reschedule(
        msgspec.structs.replace(after, schedule=timing.schedule),
        expected_version=before.version,
        first_fire=timing.first_fire,
        next_fire=timing.next_fire,
    )
    fail_point(FailPoint.EDIT_COMMITTED)
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
    if timing.first_fire is None or job.after:
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
        if run.state is RunState.SCHEDULED
    ]
    desk.tell_added(job.job_id, due, now)


def run_now(
    desk: Desk, tenant: str, job_id: UUID, asked: RunNowBody, occasion: Occasion
) -> list[UUID]:
    """A run beside the schedule, one per pool. With a key, it fires when that was first used.

    So whoever asks again, however many at once, asks for the very same runs.
    """
    now = desk.now()
    origin = f"now:{occasion.key or new_job_id(now)}"
    fire = instant_of(epoch_ms(occasion.since or now))
    runs = desk.ledger.add_run(tenant, job_id, origin, fire, cascade=asked.cascade)
    fail_point(FailPoint.RUN_NOW_COMMITTED)
    desk.tell_added(job_id, runs, now)
    if occasion.since is None:
        return [run.run_id for run in runs]
    # Some may have started since, and be due no more.
    where = RunFilter(job_id, since=fire, until=fire + MILLISECOND)
    found = desk.ledger.list_runs(tenant, where, LAST_ID, LONGEST_PAGE).items
    return [run.run_id for run in found if run.origin == origin]


def cancel(desk: Desk, tenant: str, job_id: UUID) -> Job:
    """Its future goes, what waits ends, and the workers of what runs are told to stop."""
    since = desk.ledger.now()
    before = desk.ledger.job(tenant, job_id)
    job = desk.ledger.cancel_job(tenant, job_id)
    fail_point(FailPoint.CANCEL_COMMITTED)
    if job.version != before.version:
        latest = desk.ledger.runs(tenant, job_id, LONGEST_PAGE)
        stopped = [run for run in latest if run.state in _STOPPED and run.modified_time >= since]
        desk.tell_settled([stands(run, Recorded.ACCEPTED) for run in stopped])
    return job


class Backfill(msgspec.Struct, frozen=True):
    """What was made: the budget travels in the runs' origin, for whoever lets them start."""

    backfill_id: str
    origin: str
    fires: list[datetime]
    run_ids: list[UUID]


def backfill(
    desk: Desk, tenant: str, job_id: UUID, asked: BackfillBody, occasion: Occasion
) -> Backfill:
    """Runs for the fires of a past range, beside the schedule."""
    now = occasion.since or desk.now()
    job = desk.ledger.job(tenant, job_id)
    fires = _past_fires(desk, job, asked, now)
    named = f"{job_id}\0{occasion.key or new_job_id(now)}"
    backfill_id = hashlib.sha256(named.encode()).hexdigest()[:12]
    origin = backfill_origin(backfill_id, asked.at_once)
    first = desk.ledger.add_runs(tenant, job_id, origin, fires)
    fail_point(FailPoint.BACKFILL_COMMITTED)
    desk.tell_queue(first, now)
    every = [run.as_due() for fire in fires for run in new_runs(job, fire, origin=origin)]
    desk.tell_of(job_id, every, now)
    _log.info("backfill %s of job %s: %d fires", origin, job_id, len(fires))
    return Backfill(backfill_id, origin, fires, [run.run_id for run in every])


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
    job_id = request.id("job_id")

    def answer(_: Occasion) -> Response:
        job = change(desk, request.tenant, job_id, body, version)
        shown = job_answer(job, desk.show_target)
        return Response(HTTPStatus.OK, shown, {"ETag": f'"{job.version}"'})

    return once(desk, request, answer, request.body)


def delete_job(desk: Desk, request: Request) -> Response:
    return _become(desk, request, lambda tenant, job_id: cancel(desk, tenant, job_id))


def post_pause(desk: Desk, request: Request) -> Response:
    decode(request.json_or_nothing(), EmptyBody)
    return _become(desk, request, desk.ledger.pause)


def post_resume(desk: Desk, request: Request) -> Response:
    decode(request.json_or_nothing(), EmptyBody)
    return _become(desk, request, desk.ledger.resume)


def post_run_now(desk: Desk, request: Request) -> Response:
    asked = decode(request.json_or_nothing(), RunNowBody)
    job_id = request.id("job_id")

    def answer(occasion: Occasion) -> Response:
        run_ids = run_now(desk, request.tenant, job_id, asked, occasion)
        return Response(HTTPStatus.ACCEPTED, {"job_id": job_id, "run_ids": run_ids})

    # What it says: no body, {} and a default that was written out are the same request.
    return once(desk, request, answer, msgspec.json.encode(asked))


def post_backfill(desk: Desk, request: Request) -> Response:
    asked = decode(request.json(), BackfillBody)
    job_id = request.id("job_id")

    def answer(occasion: Occasion) -> Response:
        made = backfill(desk, request.tenant, job_id, asked, occasion)
        body = {
            "job_id": job_id,
            "backfill_id": made.backfill_id,
            "fires": len(made.fires),
            "at_once": asked.at_once,
            "run_ids": made.run_ids,
        }
        return Response(HTTPStatus.ACCEPTED, body)

    return once(desk, request, answer, request.body)


def _become(desk: Desk, request: Request, become: Callable[[str, UUID], Job]) -> Response:
    """Cancelled, paused, resumed: these need no more words than their path."""
    job_id = request.id("job_id")

    def answer(_: Occasion) -> Response:
        job = become(request.tenant, job_id)
        body = {"job_id": job.job_id, "status": job.status.name, "version": job.version}
        return Response(HTTPStatus.OK, body, {"ETag": f'"{job.version}"'})

    return once(desk, request, answer)
