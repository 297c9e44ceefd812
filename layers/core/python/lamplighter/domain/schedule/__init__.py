"""Time: what a schedule may be, and when it fires. `docs/semantics.md` says the same in prose."""

from lamplighter.domain.schedule.alignment import align
from lamplighter.domain.schedule.calendars import Calendar, Calendars, Window, validate_calendar
from lamplighter.domain.schedule.catching_up import (
    LATE_AFTER,
    Missed,
    Settlement,
    catch_up,
    missed_after,
    pass_over,
    settle_all,
)
from lamplighter.domain.schedule.jitter import jitter_ms
from lamplighter.domain.schedule.model import CalendarUse, Schedule
from lamplighter.domain.schedule.preview import Transition, transitions
from lamplighter.domain.schedule.timeline import (
    count_fires,
    fires,
    fires_between,
    first_fire,
    next_fire,
)
from lamplighter.domain.schedule.validation import PAST_TOLERANCE, validate
from lamplighter.domain.schedule.zones import zone_names

__all__ = [
    "LATE_AFTER",
    "PAST_TOLERANCE",
    "Calendar",
    "CalendarUse",
    "Calendars",
    "Missed",
    "Schedule",
    "Settlement",
    "Transition",
    "Window",
    "align",
    "catch_up",
    "count_fires",
    "fires",
    "fires_between",
    "first_fire",
    "jitter_ms",
    "missed_after",
    "next_fire",
    "pass_over",
    "settle_all",
    "transitions",
    "validate",
    "validate_calendar",
    "zone_names",
]
