"""How runs end, in words: the second half of Explain."""

from datetime import datetime, timedelta
from typing import Final

from lamplighter.contracts.answers import shown_instant, shown_span
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.states import RunState, SkipReason

ON_TIME: Final = timedelta(seconds=2)
_SHOWN_ERROR: Final = 300
_SKIPPED: Final = {
    SkipReason.OVERLAP: "an earlier run was unfinished and its overlap is {overlap}",
    SkipReason.PAUSED: "it was paused",
    SkipReason.MISSED_WINDOW: (
        "nobody could start it in time and its catch-up ({policy}, {window} s) gave the fire up"
    ),
    SkipReason.UPSTREAM_FAILED: "an upstream did not succeed",
    SkipReason.UPSTREAM_MISSING: "an upstream had not ended in time",
    SkipReason.EXPIRED: "it could not start before its deadline or expires_at",
}


def ended(job: Job, run: Run, now: datetime, last: Attempt | None = None) -> str:
    """`last` is what was noted of the run's last start, where that had ended before the run did."""
    end = at(run.end_time)
    match run.state:
        case RunState.SUCCESS:
            return f"succeeded at {end}{lateness(run)}"
        case RunState.FAILED:
            return f"failed at {end} after {_attempts(run)}: {error(run)}"
        case RunState.TIMED_OUT:
            limit = f" of {job.timeout_seconds} s" if job.timeout_seconds else ""
            return f"ran out of its time{limit} at {end}, after {_attempts(run)}"
        case RunState.CANCELLED:
            why = f": {error(run)}" if run.error_message else ""
            when = _cancelled_when(run, last)
            return f"had its run of {at(run.fire_at)} cancelled at {end}, {when}{why}"
        case _:
            begun = "will not run" if run.fire_at > now else "did not run"
            return f"{begun} at {_fires(run)}, because {_skipped(job, run)}"


def _cancelled_when(run: Run, last: Attempt | None) -> str:
    if run.start_time is None:
        return "before it started"
    if last is None:
        return "while it ran"
    if last.attempt_number < run.attempt_number:
        return f"before attempt {run.attempt_number} began"
    return "after it had lost its worker"


def _skipped(job: Job, run: Run) -> str:
    if run.reason is None:
        return "its reason was not recorded"
    if run.reason in (SkipReason.UPSTREAM_FAILED, SkipReason.UPSTREAM_MISSING):
        return run.error_message or _SKIPPED[run.reason]
    rule = job.schedule.catch_up
    return _SKIPPED[run.reason].format(
        overlap=job.overlap.value, policy=rule.policy.value, window=rule.window_seconds
    )


def _fires(run: Run) -> str:
    if run.missed_to is None or run.missed_count <= 1:
        return at(run.fire_at)
    return f"{run.missed_count:,} fires from {at(run.fire_at)} to {at(run.missed_to)}"


def lateness(run: Run) -> str:
    late = run.start_time - run.due_at if run.start_time is not None else timedelta(0)
    if late <= ON_TIME:
        return ", on time" if run.attempt_number == 1 else f", after {_attempts(run)}"
    return f", {shown_span(late)} late, because {_late_because(run)}"


def _late_because(run: Run) -> str:
    if run.losses:
        return f"it lost its worker {times(run.losses)}"
    if run.attempt_number > 1:
        return f"it took {_attempts(run)}"
    if run.excused:
        return "it waited for an upstream or for a slot"
    if run.created_at > run.due_at:
        return f"it was written down only at {at(run.created_at)}"
    return f"no worker of pool {run.pool!r} claimed it sooner"


def _attempts(run: Run) -> str:
    return "1 attempt" if run.attempt_number == 1 else f"{run.attempt_number} attempts"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def error(run: Run) -> str:
    text = " ".join((run.error_message or "no reason was given").split())
    return text if len(text) <= _SHOWN_ERROR else f"{text[:_SHOWN_ERROR]}…"


def at(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else shown_instant(moment)
