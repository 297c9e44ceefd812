"""Canary: the scheduler's own job. It fires every so often, and metrics tell when it came back.

Made, changed and ended at each deployment. It fires on whole multiples of its interval, in the
thick of it: at full minutes most is due.
"""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.contracts.http_keys import Sender
from lamplighter.contracts.jobs import JobBody
from lamplighter.domain.canary import (
    CANARY_HANDLER,
    CANARY_NAME,
    INTERNAL_TENANT,
    MOST_CANARIES,
    canary_id,
    canary_key,
)
from lamplighter.domain.errors import JobNotFound, LamplighterError
from lamplighter.domain.ids import EPOCH
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import CatchUp, Overlap, ScheduleType
from lamplighter.stages.change import cancel, change
from lamplighter.stages.desk import Desk
from lamplighter.stages.submit import accept

_TARGET: Final = msgspec.Raw(
    msgspec.json.encode({"type": "python", "handler": CANARY_HANDLER}),
)
_TIMEOUT_SECONDS: Final = 30


class NoCanaryLeft(LamplighterError):
    """It was switched off and on so often that all its ids are used up."""


def ensure_canary(desk: Desk, seconds: int) -> UUID | None:
    """Let there be one that fires every so many seconds; 0: none. Safe to repeat."""
    number, job = _present(desk)
    if not seconds:
        if job is not None:
            cancel(desk, INTERNAL_TENANT, job.job_id)
        return None
    if job is None:
        sender = Sender(INTERNAL_TENANT, canary_key(number))
        [job_id] = accept(desk, sender, _body(desk.now(), seconds)).job_ids
        return job_id
    if job.schedule.interval_seconds != seconds:
        change(desk, INTERNAL_TENANT, job.job_id, _body(desk.now(), seconds), None)
    return job.job_id


def _present(desk: Desk) -> tuple[int, Job | None]:
    """The canary that lives; or, where none does, the number of the next."""
    for number in range(MOST_CANARIES):
        try:
            job = desk.ledger.job(INTERNAL_TENANT, canary_id(number))
        except JobNotFound:
            return number, None
        if job.status is not JobStatus.CANCELLED:
            return number, job
    raise NoCanaryLeft(str(NoCanaryLeft.__doc__))


def _body(now: datetime, seconds: int) -> JobBody:
    every = timedelta(seconds=seconds)
    return JobBody(
        name=CANARY_NAME,
        schedule_type=ScheduleType.INTERVAL,
        interval_seconds=float(seconds),
        start_at=EPOCH + ((now - EPOCH) // every + 1) * every,
        target=_TARGET,
        # A late one is worth nothing: what counts is when the next one comes.
        catch_up=CatchUp.NONE,
        overlap=Overlap.ALLOW,
        max_retries=0,
        timeout_seconds=_TIMEOUT_SECONDS,
    )
