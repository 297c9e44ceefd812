"""Whether two schedules fire together, always. `same_fire` dependencies rest on it."""

from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule.model import Schedule
from lamplighter.domain.schedule.timeline import cron_timetable


def align(one: Schedule, other: Schedule) -> bool:
    """Whether they provably fire at the same instants. False may also mean "not proven"."""
    if ScheduleType.AFTER in (one.schedule_type, other.schedule_type):
        return False
    return _essence(one) == _essence(other)


def _essence(schedule: Schedule) -> tuple[object, ...]:
    """All that decides its fires, with different spellings of the same rule made equal."""
    bounds = (schedule.start_at, schedule.end_at, *_calendars(schedule))
    match schedule.schedule_type:
        case ScheduleType.CRON:
            table = cron_timetable(schedule)
            rule = (table.expression, schedule.timezone, table.shifts, table.overlap)
            return (ScheduleType.CRON, *rule, *bounds)
        case ScheduleType.INTERVAL:
            return (ScheduleType.INTERVAL, schedule.interval_seconds, *bounds)
        case _:
            # At once and at an instant differ only in who chose the instant.
            return (ScheduleType.FUTURE, schedule.schedule_time, *bounds)


def _calendars(schedule: Schedule) -> tuple[object, ...]:
    use = schedule.calendar
    where = schedule.timezone if use.exclude or use.only else None
    return frozenset(use.exclude), frozenset(use.only), where
