"""May this run start now? Decided at the claim, not minutes before when the run was planned."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import msgspec

from lamplighter.domain.ids import BY_SCHEDULE, MILLISECOND
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import CatchUp
from lamplighter.domain.run import Refusal, Run
from lamplighter.domain.schedule import Calendar, Schedule, count_fires, next_fire
from lamplighter.domain.states import RunState, SkipReason

# A claim that is early by less waits at the worker; an earlier one goes back.
EARLY_GRACE = timedelta(seconds=1)
# A fire that is later than this is a missed one, and catch-up decides what becomes of it.
LATE_GRACE = timedelta(seconds=60)

_NOT_NOW = {
    RunState.BLOCKED: Refusal.BLOCKED,
    RunState.PARKED: Refusal.PARKED,
    RunState.RUNNING: Refusal.TAKEN,
    RunState.CANCELLING: Refusal.TAKEN,
    RunState.HELD: Refusal.TAKEN,
}


class MayStart(msgspec.Struct, frozen=True):
    """Nothing but a missing slot stands in the way."""


class Turned(msgspec.Struct, frozen=True):
    """Not now, or not by this message; the run stays as it is."""

    why: Refusal


class Skip(msgspec.Struct, frozen=True):
    """The run ends here, without an attempt."""

    reason: SkipReason


class Cancel(msgspec.Struct, frozen=True):
    """The job was cancelled after this run was written."""


def judge(
    run: Run, job: Job, fence: int, now: datetime, calendars: Mapping[str, Calendar]
) -> MayStart | Turned | Skip | Cancel:
    if run.state.is_final:
        return Turned(Refusal.ENDED)
    if run.state in _NOT_NOW or run.fence != fence:
        return Turned(_NOT_NOW.get(run.state, Refusal.TAKEN))
    if job.status is JobStatus.CANCELLED:
        return Cancel()
    if run.state is RunState.SCHEDULED and run.due_at > now + EARLY_GRACE:
        return Turned(Refusal.EARLY)
    reason = None if run.start_time is not None else _skip_reason(run, job, now, calendars)
    return MayStart() if reason is None else Skip(reason)


def _skip_reason(
    run: Run, job: Job, now: datetime, calendars: Mapping[str, Calendar]
) -> SkipReason | None:
    """Only for a run that never started: one that has is finished, whatever the clock says."""
    scheduled = run.origin == BY_SCHEDULE
    if scheduled and job.status is JobStatus.PAUSED:
        return SkipReason.PAUSED
    end = expiry(run, job)
    if end is not None and now >= end:
        return SkipReason.EXPIRED
    # Waiting for an upstream or for a slot is not missing a fire.
    if scheduled and not run.excused and _missed(run, job, now, calendars):
        return SkipReason.MISSED_WINDOW
    return None


def _missed(run: Run, job: Job, now: datetime, calendars: Mapping[str, Calendar]) -> bool:
    """By when it was due: to a run that jitter delays, it is as much earlier as the delay."""
    delay = run.due_at - run.fire_at
    return is_missed(job.schedule, run.fire_at, now - delay, calendars)


def expiry(run: Run, job: Job) -> datetime | None:
    """From when on this run may no longer start; a run that has started does not expire."""
    if run.start_time is not None:
        return None
    deadline = job.start_deadline_seconds
    by_deadline = None if deadline is None else run.due_at + timedelta(seconds=deadline)
    return min((at for at in (job.expires_at, by_deadline) if at is not None), default=None)


def is_missed(
    schedule: Schedule, fire: datetime, now: datetime, calendars: Mapping[str, Calendar]
) -> bool:
    """Whether catch-up gives this fire up. A one-off has no later fire instead: it runs."""
    late = now - fire
    if not schedule.schedule_type.is_recurring or late <= LATE_GRACE:
        return False
    rule = schedule.catch_up
    if rule.policy is CatchUp.NONE or late > timedelta(seconds=rule.window_seconds):
        return True
    long_ago = now - LATE_GRACE
    if rule.policy is CatchUp.LATEST:
        newer = next_fire(schedule, fire, calendars)
        return newer is not None and newer < long_ago
    return count_fires(schedule, fire + MILLISECOND, long_ago, calendars) >= rule.limit
