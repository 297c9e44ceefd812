"""The schedule that a body means, given the one that the job has."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from lamplighter.contracts.http_checks import CRON_CHARACTERS, LAST_YEAR, check_text
from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.schedule import CalendarUse, Schedule

_DEFAULTS: Final[dict[str, Any]] = {
    each.name: each.default
    for each in msgspec.structs.fields(Schedule)
    if each.name != "schedule_type"
}
_TELLING: Final = (
    ("cron_expression", ScheduleType.CRON),
    ("interval_seconds", ScheduleType.INTERVAL),
    ("schedule_time", ScheduleType.FUTURE),
)


def schedule_of(said: Mapping[str, Any], before: Schedule | None = None) -> Schedule:
    """What was said, over what was there before; another kind starts anew, in the same zone.

    A `schedule_time` put on a cron job makes it a one-off, and nothing of the cron stays.
    """
    kind = _kind(said, before)
    base = _base(kind, said, before)
    changes = {
        name: _DEFAULTS[name] if value is None else _written_out(name, value)
        for name, value in said.items()
        if name in _DEFAULTS
    }
    return msgspec.structs.replace(base, **changes) if changes else base


def is_retimed(said: Mapping[str, Any]) -> bool:
    """Whether the kind of schedule is told, rather than left as it is."""
    telling = ("schedule_type", *(name for name, _ in _TELLING))
    return any(said.get(name) is not None for name in telling)


def _kind(said: Mapping[str, Any], before: Schedule | None) -> ScheduleType:
    named: ScheduleType | None = said.get("schedule_type")
    if named is not None:
        return named
    for field, kind in _TELLING:
        if said.get(field) is not None:
            return kind
    if before is not None:
        return before.schedule_type
    waits = said.get("after") or said.get("dependencies")
    return ScheduleType.AFTER if waits else ScheduleType.IMMEDIATE


def _base(kind: ScheduleType, said: Mapping[str, Any], before: Schedule | None) -> Schedule:
    if before is None:
        return Schedule(kind)
    if before.schedule_type is not kind:
        return Schedule(kind, timezone=before.timezone)
    if kind is ScheduleType.IMMEDIATE and said.get("schedule_type") is not None:
        return msgspec.structs.replace(before, schedule_time=None)  # at once, once more
    return before


def _written_out(name: str, value: Any) -> Any:
    """Short forms, the long way."""
    if name == "catch_up" and isinstance(value, CatchUp):
        return CatchUpPolicy(policy=value)
    if name == "calendar" and isinstance(value, str):
        return CalendarUse(exclude=(value,))
    if isinstance(value, datetime) and value.year > LAST_YEAR:
        raise InvalidSchedule(name, f"give a year up to {LAST_YEAR}")
    if name == "cron_expression":
        return check_text(name, value, CRON_CHARACTERS)
    return value
