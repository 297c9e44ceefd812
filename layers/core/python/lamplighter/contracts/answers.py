"""What people get to see of jobs and runs. Times are RFC 3339 with Z, to the millisecond."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import Schedule, Transition
from lamplighter.domain.states import RunState

QUEUED: Final = "QUEUED"

Target = dict[str, Any]

_TIMING: Final = (
    "start_at", "end_at", "jitter_seconds", "dst", "day_match", "calendar", "catch_up",
)  # fmt: skip
_ALWAYS: Final = ("priority", "pool", "max_retries", "overlap")
_SOMETIMES: Final = (
    "timeout_seconds", "start_deadline_seconds", "expires_at", "ordering_key", "concurrency_key",
    "max_concurrency", "tags", "after",
)  # fmt: skip
_OF_RUN: Final = (
    "start_time", "end_time", "modified_time", "attempt_number", "executor_id", "error_message",
    "log_url", "result", "stdout", "stderr", "origin", "pool", "priority", "created_at",
)  # fmt: skip


def shown_instant(at: datetime) -> str:
    """As everywhere in answers: `2025-09-25T09:30:00.000Z`."""
    return f"{at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def shown_span(duration: timedelta) -> str:
    """Rough, as people say it: 350 ms, 12 s, 5 min, 3 h, 2 days."""
    seconds = duration.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def shown(value: Any) -> Any:
    """A value of the domain in JSON's terms."""
    if isinstance(value, datetime):
        return shown_instant(value)
    if isinstance(value, Mapping):
        return {key: shown(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return msgspec.to_builtins(value, builtin_types=(datetime,))


def job_answer(job: Job, show_target: Callable[[Target], Target]) -> dict[str, Any]:
    """The whole job. What was left out of it is left out here, but for what the seeds name."""
    answer = job_line(job) | {"payload": job.payload}
    if job.target is not None:
        answer["target"] = show_target(job.target)
    return answer


def job_line(job: Job) -> dict[str, Any]:
    """A job in a list: without its documents."""
    answer: dict[str, Any] = {
        "job_id": str(job.job_id),
        "name": job.name,
        **_timing(job.schedule),
        "status": job.status.name,
        "class": JobClass.of(job.priority).name,
        **{name: shown(getattr(job, name)) for name in _ALWAYS},
    }
    for name in _SOMETIMES:
        if value := getattr(job, name):
            answer[name] = shown(value)
    answer |= _policy(job.policy)
    answer["version"] = job.version
    for name in ("created_at", "updated_at"):
        if (value := getattr(job, name)) is not None:
            answer[name] = shown_instant(value)
    return answer


def _timing(schedule: Schedule) -> dict[str, Any]:
    said: dict[str, Any] = {
        name: shown(getattr(schedule, name))
        for name in ("schedule_type", "cron_expression", "schedule_time", "interval_seconds")
        if getattr(schedule, name) is not None
    }
    said["timezone"] = schedule.timezone
    usual = Schedule(schedule.schedule_type)
    for name in _TIMING:
        if (value := getattr(schedule, name)) != getattr(usual, name):
            said[name] = _whole(value)
    return said


def _policy(policy: Policy) -> dict[str, Any]:
    usual = Policy()
    return {
        name: _whole(value)
        for name in policy.__struct_fields__
        if (value := getattr(policy, name)) != getattr(usual, name)
    }


def _whole(value: Any) -> Any:
    """Structs with all of their fields, also those at their default: an answer leaves no guess."""
    return shown(msgspec.structs.asdict(value) if isinstance(value, msgspec.Struct) else value)


def status_word(run: Run, now: datetime) -> str:
    """Nobody writes QUEUED: a scheduled run whose time has come and that no one has claimed is."""
    if run.state is RunState.SCHEDULED and run.due_at <= now:
        return QUEUED
    return run.state.name


def run_answer(run: Run, now: datetime) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "run_id": str(run.run_id),
        "job_id": str(run.job_id),
        "status": status_word(run, now),
        "fire_at": shown_instant(run.fire_at),
        "due_at": shown_instant(run.due_at),
    }
    if run.reason is not None:
        answer["reason"] = run.reason.name.lower()
    for name in _OF_RUN:
        if (value := getattr(run, name)) is not None:
            answer[name] = shown(value)
    if run.missed_to is not None:
        answer |= {"missed_to": shown_instant(run.missed_to), "missed_count": run.missed_count}
    if run.wake_at is not None and not run.state.is_final:
        answer["wake_at"] = shown_instant(run.wake_at)
    return answer


def attempt_answer(attempt: Attempt) -> dict[str, Any]:
    fields = msgspec.structs.asdict(attempt)
    return {name: shown(value) for name, value in fields.items() if value is not None}


def transition_answer(transition: Transition) -> dict[str, Any]:
    return {
        "at": shown_instant(transition.at),
        "affected": transition.affected,
        "sentence": transition.sentence,
    }
