"""The coming nights on which clocks change, and what a schedule does on each of them."""

from datetime import datetime, timedelta

import msgspec

from lamplighter.domain.policy import DstOverlap, ScheduleType
from lamplighter.domain.schedule.model import Schedule
from lamplighter.domain.schedule.timeline import cron_timetable
from lamplighter.domain.schedule.times import from_ms, to_ms, wall_clock
from lamplighter.domain.schedule.timetable import Cron
from lamplighter.domain.schedule.zones import Segment


class Transition(msgspec.Struct, frozen=True):
    """`affected` counts the wall times of the schedule that do not exist, or that come twice."""

    at: datetime
    wall_before: datetime
    wall_after: datetime
    affected: int
    sentence: str


def transitions(schedule: Schedule, after: datetime, until: datetime) -> list[Transition]:
    """Every change of the clock in (after, until]. Only CRON reads a clock; others have none."""
    if schedule.schedule_type is not ScheduleType.CRON:
        return []
    table = cron_timetable(schedule)
    start, end = to_ms(after) // 1000, to_ms(until) // 1000
    return [
        _transition(table, segment)
        for segment in table.zone.segments(start, end + 1)
        if (segment.is_gap or segment.is_overlap) and segment.end <= end
    ]


def _transition(table: Cron, segment: Segment) -> Transition:
    before, after = segment.end + segment.offset, segment.end + segment.after
    affected = table.expression.count(min(before, after), max(before, after))
    told = _gap(table, affected) if segment.is_gap else _overlap(table, affected)
    clock = f"{wall_clock(before):%Y-%m-%d %H:%M} → {wall_clock(after):%Y-%m-%d %H:%M}"
    size = timedelta(seconds=abs(segment.after - segment.offset))
    turn = "ahead" if segment.is_gap else "back"
    return Transition(
        at=from_ms(segment.end * 1000),
        wall_before=wall_clock(before),
        wall_after=wall_clock(after),
        affected=affected,
        sentence=f"{clock} ({table.zone.name}, {size} {turn}): {told}",
    )


def _times(count: int) -> str:
    return "1 wall time" if count == 1 else f"{count:,} wall times"


def _gap(table: Cron, affected: int) -> str:
    if not affected:
        return "no fire is affected."
    if table.shifts:
        return f"{_times(affected)} missing, run as one fire when the clock has jumped."
    if not table.expression.names_its_hours:
        return f"{_times(affected)} missing; fires follow elapsed time."
    return f"{_times(affected)} missing and skipped."


def _overlap(table: Cron, affected: int) -> str:
    if not affected:
        return "no fire is affected."
    if not table.expression.names_its_hours:
        return f"{_times(affected)} shown twice; fires follow elapsed time, so both run."
    words = {
        DstOverlap.FIRST: "only the first showing fires.",
        DstOverlap.SECOND: "only the second showing fires.",
        DstOverlap.BOTH: "both showings fire.",
    }
    return f"{_times(affected)} shown twice; {words[table.overlap]}"
