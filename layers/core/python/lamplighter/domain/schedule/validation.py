"""What a schedule must be before it is believed. Each refusal names the field and the fix."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from math import isfinite
from typing import Any

import msgspec

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule.calendars import Calendars
from lamplighter.domain.schedule.expression import parse
from lamplighter.domain.schedule.model import CalendarUse, Schedule
from lamplighter.domain.schedule.timeline import first_fire
from lamplighter.domain.schedule.times import ceil_ms, from_ms, to_ms
from lamplighter.domain.schedule.zones import zone

PAST_TOLERANCE = timedelta(seconds=60)
LONGEST_INTERVAL = 10 * 366 * 86_400
LONGEST_JITTER = 86_400
LONGEST_WINDOW = 366 * 86_400
MOST_CAUGHT_UP = 10_000
MOST_CALENDARS = 20

_ONE_OFF = {"schedule_time", "timezone", "start_at", "end_at", "calendar", "jitter_seconds"}
_RECURRING = (_ONE_OFF - {"schedule_time"}) | {"catch_up"}
_BELONGS: dict[ScheduleType, set[str]] = {
    ScheduleType.IMMEDIATE: _ONE_OFF,
    ScheduleType.FUTURE: _ONE_OFF,
    ScheduleType.CRON: _RECURRING | {"cron_expression", "dst", "day_match"},
    ScheduleType.INTERVAL: _RECURRING | {"interval_seconds"},
    ScheduleType.AFTER: {"timezone"},
}
_NEEDS = {
    ScheduleType.FUTURE: "schedule_time",
    ScheduleType.CRON: "cron_expression",
    ScheduleType.INTERVAL: "interval_seconds",
}


def validate(schedule: Schedule, *, now: datetime, calendars: Calendars = ()) -> Schedule:
    """The schedule as it is kept: times in UTC and whole milliseconds, an anchor for an interval.

    Raises InvalidSchedule for the first thing that is wrong with it, among them that it would
    never fire.
    """
    _check_fields(schedule)
    zone(schedule.timezone)
    _check_numbers(schedule)
    _check_calendars(schedule.calendar)
    kept = _anchored(_in_utc(schedule), now)
    _check_bounds(kept)
    _check_not_past(kept, now)
    _check_fires(kept, now, calendars)
    return kept


def _check_fields(schedule: Schedule) -> None:
    kind = schedule.schedule_type
    needed = _NEEDS.get(kind)
    if needed and getattr(schedule, needed) is None:
        raise InvalidSchedule(needed, f"give it; schedule_type {kind.value} needs it")
    for name, default in _foreign(kind):
        if getattr(schedule, name) != default:
            raise InvalidSchedule(
                name, f"leave it out; it does not belong to schedule_type {kind.value}"
            )


@cache
def _foreign(kind: ScheduleType) -> list[tuple[str, Any]]:
    """The fields that do not belong to this type, with what they are when left out."""
    own = _BELONGS[kind] | {"schedule_type"}
    fields = msgspec.structs.fields(Schedule)
    return [(field.name, field.default) for field in fields if field.name not in own]


def _check_numbers(schedule: Schedule) -> None:
    _check_range("jitter_seconds", schedule.jitter_seconds, 0, LONGEST_JITTER)
    if schedule.interval_seconds is not None:
        _check_range("interval_seconds", schedule.interval_seconds, 1, LONGEST_INTERVAL)
        thousandths = schedule.interval_seconds * 1000
        if abs(thousandths - round(thousandths)) > 1e-3:
            raise InvalidSchedule("interval_seconds", "give whole milliseconds, like 1.5 or 90.25")
    policy = schedule.catch_up
    _check_range("catch_up.window_seconds", policy.window_seconds, 0, LONGEST_WINDOW)
    _check_range("catch_up.limit", policy.limit, 1, MOST_CAUGHT_UP)


def _check_range(field: str, value: float, low: int, high: int) -> None:
    if not (isfinite(value) and low <= value <= high):
        raise InvalidSchedule(field, f"{value:g} is not allowed; give {low:,} to {high:,}")


def _check_calendars(use: CalendarUse) -> None:
    """Each may have thousands of entries, and all of them are laid over each other."""
    for names in (use.exclude, use.only):
        if len(names) > MOST_CALENDARS or len(set(names)) < len(names):
            raise InvalidSchedule("calendar", f"name each calendar once, {MOST_CALENDARS} at most")


def _in_utc(schedule: Schedule) -> Schedule:
    return msgspec.structs.replace(
        schedule,
        schedule_time=_moved("schedule_time", schedule.schedule_time, to_ms),
        start_at=_moved("start_at", schedule.start_at, ceil_ms),
        end_at=_moved("end_at", schedule.end_at, to_ms),
    )


def _moved(
    field: str, moment: datetime | None, rounded: Callable[[datetime], int]
) -> datetime | None:
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise InvalidSchedule(field, f"{moment.isoformat()} has no offset: add an offset or Z")
    try:
        return from_ms(rounded(moment.astimezone(UTC)))
    except OverflowError:
        raise InvalidSchedule(field, f"{moment.isoformat()} is beyond the calendar") from None


def _anchored(schedule: Schedule, now: datetime) -> Schedule:
    """What was left to the moment of submission is settled now, once and for all."""
    if schedule.schedule_type is ScheduleType.IMMEDIATE and schedule.schedule_time is None:
        return msgspec.structs.replace(schedule, schedule_time=from_ms(to_ms(now)))
    if schedule.schedule_type is ScheduleType.INTERVAL and schedule.start_at is None:
        # Not before now: its first fire, the anchor itself, would have passed already.
        return msgspec.structs.replace(schedule, start_at=from_ms(ceil_ms(now)))
    return schedule


def _check_bounds(schedule: Schedule) -> None:
    start, end, at = schedule.start_at, schedule.end_at, schedule.schedule_time
    if start is not None and end is not None and end < start:
        raise InvalidSchedule(
            "end_at",
            f"{end.isoformat()} is before start_at; let it be {start.isoformat()} or later",
        )
    if at is not None and start is not None and at < start:
        raise InvalidSchedule("schedule_time", "it is before start_at; move either of them")
    if at is not None and end is not None and at > end:
        raise InvalidSchedule("schedule_time", "it is after end_at; move either of them")


def _check_not_past(schedule: Schedule, now: datetime) -> None:
    at = schedule.schedule_time
    if at is not None and at < now - PAST_TOLERANCE:
        raise InvalidSchedule(
            "schedule_time",
            f"{at.isoformat()} has passed; give a time from {from_ms(to_ms(now)).isoformat()} on, "
            "or use IMMEDIATE",
        )
    if (
        schedule.schedule_type is ScheduleType.IMMEDIATE
        and at is not None
        and at > now + PAST_TOLERANCE
    ):
        raise InvalidSchedule("schedule_time", "leave it out, or use schedule_type FUTURE")
    if schedule.end_at is not None and schedule.end_at < now - PAST_TOLERANCE:
        raise InvalidSchedule(
            "end_at", f"{schedule.end_at.isoformat()} has passed; give a later one"
        )


def _check_fires(schedule: Schedule, now: datetime, calendars: Calendars) -> None:
    kind, text = schedule.schedule_type, schedule.cron_expression
    if kind is ScheduleType.AFTER:
        return
    if text is not None and not parse(text, schedule.day_match).is_possible:
        raise InvalidSchedule(
            "cron_expression", f"{text!r} never fires: no year has such a date; change its days"
        )
    if first_fire(schedule, now, calendars) is None:
        raise _never(schedule)


def _never(schedule: Schedule) -> InvalidSchedule:
    use = schedule.calendar
    if use.exclude or use.only:
        return InvalidSchedule(
            "calendar", "it leaves no fire; allow more dates, or widen start_at and end_at"
        )
    if schedule.end_at is not None:
        return InvalidSchedule(
            "end_at", f"there is no fire up to {schedule.end_at.isoformat()}; give a later one"
        )
    return InvalidSchedule(
        "dst.gap", "every fire falls into a gap of the clock and is skipped; use shift"
    )
