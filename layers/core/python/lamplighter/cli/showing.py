"""Jobs and runs as rows and facts."""

import json
from datetime import datetime
from typing import Any, Final

from lamplighter.cli.session import Session
from lamplighter.cli.tables import shorten

JOB_HEADS: Final = ("JOB", "NAME", "STATUS", "SCHEDULE", "CLASS", "POOL", "CREATED")
RUN_HEADS: Final = ("RUN", "JOB", "STATUS", "FIRE", "STARTED", "TOOK", "TRY", "WHY")
_NAME_CHARACTERS: Final = 40
_WHY_CHARACTERS: Final = 60
# Told in words of their own, or of no use to a person.
_TOLD_OTHERWISE: Final = frozenset(
    {"cron_expression", "interval_seconds", "schedule_time", "schedule_type", "timezone", "class"}
)
_INSTANTS: Final = frozenset(
    {
        "next_fire_at", "start_at", "end_at", "expires_at", "created_at", "updated_at", "fire_at",
        "due_at", "start_time", "end_time", "modified_time", "wake_at", "missed_to",
    }
)  # fmt: skip


def job_row(session: Session, job: dict[str, Any]) -> tuple[object, ...]:
    return (
        job["job_id"],
        shorten(job["name"], _NAME_CHARACTERS),
        job["status"],
        schedule(session, job),
        f"{job['class']}/{job['priority']}",
        job["pool"],
        session.instant(job.get("created_at")),
    )


def run_row(session: Session, run: dict[str, Any]) -> tuple[object, ...]:
    return (
        run["run_id"],
        run["job_id"],
        run["status"],
        session.instant(run["fire_at"]),
        session.instant(run.get("start_time")),
        took(run),
        run.get("attempt_number"),
        shorten(why(run) or "", _WHY_CHARACTERS),
    )


def job_facts(session: Session, job: dict[str, Any]) -> dict[str, object]:
    """Everything that the API says of it, the schedule in words."""
    first = {name: job.pop(name) for name in ("job_id", "name", "status")}
    said = {
        "schedule": schedule(session, job),
        "priority": f"{job.pop('priority')} ({job['class']})",
    }
    rest = {name: value for name, value in job.items() if name not in _TOLD_OTHERWISE}
    return {**first, **said, **_shown(session, rest)}


def run_facts(session: Session, run: dict[str, Any]) -> dict[str, object]:
    """Everything but its output, which `logs` prints."""
    without = {"stdout", "stderr", "attempts"}
    told = _shown(session, {name: value for name, value in run.items() if name not in without})
    failed = len(run.get("attempts", ()))
    return {**told, "took": took(run), "failed attempts": failed or None}


def schedule(session: Session, job: dict[str, Any]) -> str:
    kind = job["schedule_type"]
    zone = "" if job.get("timezone", "UTC") == "UTC" else f" {job['timezone']}"
    if kind == "CRON":
        return f"cron {job['cron_expression']}{zone}"
    if kind == "INTERVAL":
        return f"every {job['interval_seconds']:g} s"
    if kind == "FUTURE":
        return f"at {session.instant(job['schedule_time'])}"
    if kind == "AFTER":
        count = len(job.get("after", ()))
        return f"after {count} job{'' if count == 1 else 's'}"
    return "at once"


def took(run: dict[str, Any]) -> str | None:
    """How long its last attempt took; None where a cancel may have come after that."""
    if "start_time" not in run or "end_time" not in run:
        return None
    if run["status"] == "CANCELLED" and run.get("attempt_number", 1) > 1:
        return None
    began, ended = (datetime.fromisoformat(run[name]) for name in ("start_time", "end_time"))
    return f"{(ended - began).total_seconds():.3f} s"


def why(run: dict[str, Any]) -> str | None:
    """Why it failed or was skipped: the first line says most."""
    text = run.get("error_message") or run.get("reason")
    return text.partition("\n")[0] if text else None


def _shown(session: Session, pairs: dict[str, Any]) -> dict[str, object]:
    return {
        name: session.instant(value) if name in _INSTANTS else _value(value)
        for name, value in pairs.items()
    }


def _value(value: Any) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
