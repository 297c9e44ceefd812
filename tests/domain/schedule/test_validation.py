"""What is refused, field by field, and what a schedule looks like once it is believed."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import (
    CatchUp,
    CatchUpPolicy,
    DayMatch,
    Dst,
    DstGap,
    ScheduleType,
)
from lamplighter.domain.schedule import Calendar, CalendarUse, Schedule, first_fire, validate
from tests.domain.schedule.helpers import cron, utc

NOW = utc("2025-06-15T12:00:00.123456")
HOLIDAYS = Calendar("holidays", dates=(date(2024, 12, 25),))


def of(kind: str, **given: Any) -> Schedule:
    return Schedule(ScheduleType(kind), **given)


NAIVE = datetime(2025, 7, 1, 12)  # noqa: DTZ001

REFUSED = [
    (cron("0 0 30 2 *"), "cron_expression", "never fires: no year has such a date"),
    (cron("0 0 31 4,6 *"), "cron_expression", "never fires"),
    (cron("0 0 31 2-2 *"), "cron_expression", "never fires"),
    (cron("0 0 30 2 1#1", day_match=DayMatch.AND), "cron_expression", "never fires"),
    (cron("0 0 8 * 1#1", day_match=DayMatch.AND), "cron_expression", "never fires"),
    (cron("99 * * * *"), "cron_expression", "minute '99'"),
    (cron("* * * *"), "cron_expression", "write five"),
    (cron("0 0 * * *", "Europe/Berln"), "timezone", "did you mean Europe/Berlin?"),
    (cron("0 0 * * *", end_at=utc("2025-06-01")), "end_at", "has passed"),
    (
        cron("0 0 * * *", start_at=utc("2025-07-02"), end_at=utc("2025-07-01")),
        "end_at",
        "is before start_at; let it be 2025-07-02T00:00:00+00:00 or later",
    ),
    (
        cron("0 0 1 1 *", start_at=utc("2025-07-01"), end_at=utc("2025-08-01")),
        "end_at",
        "there is no fire up to",
    ),
    (cron("0 0 * * *", start_at=NAIVE), "start_at", "add an offset or Z"),
    (cron("0 0 * * *", end_at=NAIVE), "end_at", "add an offset or Z"),
    (
        cron("30 2 * 3 L0", "Europe/Berlin", dst=Dst(gap=DstGap.SKIP)),
        "dst.gap",
        "use shift",
    ),
    (cron("0 0 * * *", calendar=CalendarUse(only=("holidays",))), "calendar", "leaves no fire"),
    (cron("0 0 * * *", calendar=CalendarUse(exclude=("x",))), "calendar", "no calendar 'x'"),
    (cron("0 0 * * *", jitter_seconds=-1), "jitter_seconds", "give 0 to 86,400"),
    (cron("0 0 * * *", jitter_seconds=86_401), "jitter_seconds", "86401 is not allowed"),
    (cron("0 0 * * *", jitter_seconds=float("nan")), "jitter_seconds", "nan"),
    (
        cron("0 0 * * *", catch_up=CatchUpPolicy(CatchUp.ALL, limit=0)),
        "catch_up.limit",
        "1 to 10,000",
    ),
    (
        cron("0 0 * * *", catch_up=CatchUpPolicy(window_seconds=-1)),
        "catch_up.window_seconds",
        "is not allowed",
    ),
    (
        cron("0 0 * * *", interval_seconds=60.0),
        "interval_seconds",
        "does not belong to schedule_type CRON",
    ),
    (cron("0 0 * * *", schedule_time=utc("2025-07-01")), "schedule_time", "does not belong"),
    (of("CRON"), "cron_expression", "schedule_type CRON needs it"),
    (of("INTERVAL"), "interval_seconds", "needs it"),
    (of("INTERVAL", interval_seconds=0.5), "interval_seconds", "give 1 to"),
    (of("INTERVAL", interval_seconds=0.0), "interval_seconds", "give 1 to"),
    (of("INTERVAL", interval_seconds=float("inf")), "interval_seconds", "inf"),
    (of("INTERVAL", interval_seconds=1e12), "interval_seconds", "give 1 to"),
    (of("INTERVAL", interval_seconds=1.00005), "interval_seconds", "whole milliseconds"),
    (
        of("INTERVAL", interval_seconds=60.0, cron_expression="0 0 * * *"),
        "cron_expression",
        "does not belong to schedule_type INTERVAL",
    ),
    (of("INTERVAL", interval_seconds=60.0, day_match=DayMatch.AND), "day_match", "leave it out"),
    (of("INTERVAL", interval_seconds=60.0, dst=Dst(gap=DstGap.SKIP)), "dst", "leave it out"),
    (of("FUTURE"), "schedule_time", "needs it"),
    (of("FUTURE", schedule_time=utc("2025-06-15T11:58")), "schedule_time", "has passed"),
    (of("FUTURE", schedule_time=NAIVE), "schedule_time", "add an offset or Z"),
    (
        of("FUTURE", schedule_time=utc("2025-07-02"), end_at=utc("2025-07-01")),
        "schedule_time",
        "after end_at",
    ),
    (
        of("FUTURE", schedule_time=utc("2025-07-02"), start_at=utc("2025-07-03")),
        "schedule_time",
        "before start_at",
    ),
    (
        of("FUTURE", schedule_time=utc("2025-07-02"), calendar=CalendarUse(only=("holidays",))),
        "calendar",
        "leaves no fire",
    ),
    (of("IMMEDIATE", schedule_time=utc("2025-07-02")), "schedule_time", "FUTURE"),
    (of("IMMEDIATE", cron_expression="0 0 * * *"), "cron_expression", "does not belong"),
    (of("AFTER", calendar=CalendarUse(exclude=("holidays",))), "calendar", "does not belong"),
    (of("AFTER", start_at=utc("2025-07-01")), "start_at", "does not belong to schedule_type AFTER"),
    (of("AFTER", timezone="Nowhere"), "timezone", "there is no time zone"),
]


@pytest.mark.parametrize(("schedule", "field", "words"), REFUSED)
def test_a_refusal_names_the_field_and_the_fix(schedule: Schedule, field: str, words: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        validate(schedule, now=NOW, calendars=[HOLIDAYS])
    assert refusal.value.field == field
    assert words in refusal.value.fix
    assert str(refusal.value) == f"{field}: {refusal.value.fix}"


@pytest.mark.parametrize(
    "schedule",
    [
        of("IMMEDIATE"),
        of("AFTER"),
        of("FUTURE", schedule_time=utc("2025-06-15T11:59:30")),
        of("INTERVAL", interval_seconds=1.0, timezone="Asia/Tokyo"),
        cron("0 0 29 2 1", day_match=DayMatch.AND),
        cron("0 0 29 2 *", start_at=utc("2025-03-01")),
        cron("30 2 * 3 L0", "Europe/Berlin"),
        cron("0 0 * * *", calendar=CalendarUse(exclude=("holidays",)), jitter_seconds=60.0),
        cron("0 0 * * *", start_at=utc("2020-01-01"), end_at=utc("2030-01-01")),
    ],
)
def test_what_is_believed_stays_believed(schedule: Schedule) -> None:
    kept = validate(schedule, now=NOW, calendars=[HOLIDAYS])
    assert validate(kept, now=NOW, calendars=[HOLIDAYS]) == kept


def test_immediate_is_now_to_the_millisecond() -> None:
    kept = validate(of("IMMEDIATE"), now=NOW)
    assert kept.schedule_time == utc("2025-06-15T12:00:00.123")


def test_an_interval_without_a_start_is_anchored_now_and_fires_at_once() -> None:
    kept = validate(of("INTERVAL", interval_seconds=60.0), now=NOW)
    assert kept.start_at == utc("2025-06-15T12:00:00.124")
    assert first_fire(kept, NOW) == kept.start_at


def test_times_are_kept_in_utc_and_whole_milliseconds() -> None:
    tokyo = timezone(timedelta(hours=9))
    kept = validate(
        cron(
            "0 0 * * *",
            start_at=datetime(2025, 7, 1, 9, 0, 0, 1, tzinfo=tokyo),
            end_at=datetime(2026, 7, 1, 9, 0, 0, 1999, tzinfo=tokyo),
        ),
        now=NOW,
    )
    assert kept.start_at == utc("2025-07-01T00:00:00.001")
    assert kept.end_at == utc("2026-07-01T00:00:00.001")
    assert kept.start_at is not None
    assert kept.start_at.tzinfo is UTC


def test_a_time_that_has_just_passed_is_let_through() -> None:
    tolerated = of("FUTURE", schedule_time=NOW - timedelta(seconds=59))
    assert validate(tolerated, now=NOW).schedule_time is not None


@pytest.mark.parametrize("names", [("a", "a"), tuple(map(str, range(21)))])
@pytest.mark.parametrize("use", ["exclude", "only"])
def test_calendars_are_named_once_and_are_few(use: str, names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidSchedule, match="name each calendar once, 20 at most"):
        validate(cron("* * * * *", calendar=CalendarUse(**{use: names})), now=NOW)
