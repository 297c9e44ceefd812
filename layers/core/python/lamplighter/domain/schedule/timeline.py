"""When a schedule fires. Everything here is a function of its arguments: no clock is read."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice

import msgspec

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import DayMatch, Dst, ScheduleType
from lamplighter.domain.schedule import spans
from lamplighter.domain.schedule.calendars import Calendars, allowed_spans
from lamplighter.domain.schedule.expression import parse
from lamplighter.domain.schedule.model import Schedule
from lamplighter.domain.schedule.spans import Spans
from lamplighter.domain.schedule.times import EARLIEST_MS, LATEST_MS, ceil_ms, from_ms, to_ms
from lamplighter.domain.schedule.timetable import Cron, Every, Never, Once, Timetable
from lamplighter.domain.schedule.zones import zone


class Timeline(msgspec.Struct, frozen=True):
    """A timetable within its bounds, both of which may be fires, and within its calendars."""

    table: Timetable
    first: int
    last: int
    allowed: Spans | None

    def next(self, after: int) -> int | None:
        """The first fire strictly later than `after`."""
        after = max(after, self.first - 1)
        while after < self.last:
            fire = self.table.next(after)
            if fire is None or fire > self.last:
                return None
            if self.allowed is None:
                return fire
            span = spans.at_or_after(self.allowed, fire)
            if span is None:
                return None
            if span[0] <= fire:
                return fire
            # Straight to the next stretch: a fire a second over a closed year is 31 million.
            after = span[0] - 1
        return None

    def count(self, start: int, end: int) -> int:
        """How many fires lie in [start, end)."""
        start, end = max(start, self.first), min(end, self.last + 1)
        if self.allowed is None:
            return self.table.count(start, end) if start < end else 0
        within = spans.intersection(((start, end),), self.allowed) if start < end else ()
        return sum(self.table.count(low, high) for low, high in within)

    def last_before(self, moment: int, after: int) -> int | None:
        """The last fire in (after, moment), found by halving rather than by walking."""
        low, high, found = after, moment - 1, None
        while low < high:
            middle = (low + high) // 2
            fire = self.next(middle)
            if fire is not None and fire < moment:
                low = found = fire
            else:
                high = middle
        return found


def timeline(schedule: Schedule, calendars: Calendars = ()) -> Timeline:
    """The schedule's fires in milliseconds, for those who count or halve rather than list."""
    first, last = EARLIEST_MS, LATEST_MS - 1
    if schedule.start_at is not None:
        first = max(first, ceil_ms(schedule.start_at))
    if schedule.end_at is not None:
        last = min(last, to_ms(schedule.end_at))
    use = schedule.calendar
    allowed = None
    if use.exclude or use.only:
        allowed = allowed_spans(use, schedule.timezone, calendars)
    return Timeline(_timetable(schedule), first, last, allowed)


def next_fire(schedule: Schedule, after: datetime, calendars: Calendars = ()) -> datetime | None:
    """The first fire strictly later than `after`, in UTC; None when there is none."""
    fire = timeline(schedule, calendars).next(to_ms(after))
    return None if fire is None else from_ms(fire)


def first_fire(schedule: Schedule, now: datetime, calendars: Calendars = ()) -> datetime | None:
    """What to plan for a job submitted at `now`: a one-off's time, else the first fire from now."""
    line = timeline(schedule, calendars)
    fire = line.next(line.first - 1 if schedule.schedule_type.is_one_off else ceil_ms(now) - 1)
    return None if fire is None else from_ms(fire)


def fires(
    schedule: Schedule,
    after: datetime,
    until: datetime | None = None,
    limit: int | None = None,
    calendars: Calendars = (),
) -> Iterator[datetime]:
    """Fires later than `after`, in order, up to and including `until`, at most `limit` of them."""
    last = LATEST_MS if until is None else to_ms(until)
    found = walk(timeline(schedule, calendars), to_ms(after), last)
    return (from_ms(fire) for fire in islice(found, limit))


def fires_between(
    schedule: Schedule,
    start: datetime,
    end: datetime,
    limit: int | None = None,
    calendars: Calendars = (),
) -> list[datetime]:
    """Fires in [start, end): ranges that meet share no fire and lose none."""
    found = walk(timeline(schedule, calendars), ceil_ms(start) - 1, ceil_ms(end) - 1)
    return [from_ms(fire) for fire in islice(found, limit)]


def count_fires(
    schedule: Schedule, start: datetime, end: datetime, calendars: Calendars = ()
) -> int:
    """How many fires lie in [start, end), at a cost that does not grow with their number."""
    return timeline(schedule, calendars).count(ceil_ms(start), ceil_ms(end))


def cron_timetable(schedule: Schedule) -> Cron:
    """The shared timetable of a CRON schedule."""
    if schedule.cron_expression is None:
        raise InvalidSchedule("cron_expression", "give the expression that a CRON job fires by")
    return _cron(schedule.cron_expression, schedule.day_match, schedule.timezone, schedule.dst)


def walk(line: Timeline, after: int, last: int) -> Iterator[int]:
    """Fires in (after, last]."""
    fire = line.next(after)
    while fire is not None and fire <= last:
        yield fire
        fire = line.next(fire)


def _timetable(schedule: Schedule) -> Timetable:
    match schedule.schedule_type:
        case ScheduleType.CRON:
            return cron_timetable(schedule)
        case ScheduleType.INTERVAL:
            return _every(schedule)
        case ScheduleType.AFTER:
            return Never()
        case _:
            if schedule.schedule_time is None:
                raise InvalidSchedule("schedule_time", "give the time of the only fire")
            return Once(to_ms(schedule.schedule_time))


def _every(schedule: Schedule) -> Every:
    if schedule.interval_seconds is None:
        raise InvalidSchedule("interval_seconds", "give the seconds between fires")
    if schedule.start_at is None:
        raise InvalidSchedule("start_at", "give the first fire; the others are counted from it")
    return Every(ceil_ms(schedule.start_at), round(schedule.interval_seconds * 1000))


# One timetable for all jobs of the same rule: they share its masks and its last answer.
@lru_cache(maxsize=8192)
def _cron(text: str, day_match: DayMatch, zone_name: str, dst: Dst) -> Cron:
    return Cron(parse(text, day_match), zone(zone_name), dst.gap, dst.overlap)
