"""When a job fires: the fields that decide it, and nothing else."""

from datetime import datetime

import msgspec

from lamplighter.domain.policy import CatchUpPolicy, DayMatch, Dst, ScheduleType


class CalendarUse(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Named calendars that a schedule excludes, and those that it is limited to."""

    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


class Schedule(
    msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True
):
    """As a person writes it; `validate` returns it as it is kept and believed."""

    schedule_type: ScheduleType
    schedule_time: datetime | None = None
    cron_expression: str | None = None
    interval_seconds: float | None = None
    timezone: str = "UTC"
    start_at: datetime | None = None
    end_at: datetime | None = None
    jitter_seconds: float = 0.0
    dst: Dst = Dst()
    day_match: DayMatch = DayMatch.OR
    calendar: CalendarUse = CalendarUse()
    catch_up: CatchUpPolicy = CatchUpPolicy()
