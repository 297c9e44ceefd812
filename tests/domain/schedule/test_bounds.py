"""One-off jobs, start_at and end_at, and jobs that have no fires of their own."""

from datetime import timedelta

from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import (
    Schedule,
    count_fires,
    fires,
    first_fire,
    next_fire,
)
from tests.domain.schedule.helpers import cron, every, told, utc


def once(at: str, kind: ScheduleType = ScheduleType.FUTURE) -> Schedule:
    return Schedule(kind, schedule_time=utc(at))


def test_a_one_off_fires_once() -> None:
    schedule = once("2025-01-01T12:00:00.123")
    assert next_fire(schedule, utc("2025-01-01T12:00")) == utc("2025-01-01T12:00:00.123")
    assert next_fire(schedule, utc("2025-01-01T12:00:00.123")) is None
    assert count_fires(schedule, utc("2025-01-01"), utc("2025-01-02")) == 1


def test_the_first_fire_of_a_one_off_is_its_time_even_when_that_has_just_passed() -> None:
    schedule = once("2025-01-01T12:00", ScheduleType.IMMEDIATE)
    assert first_fire(schedule, utc("2025-01-01T12:00:30")) == utc("2025-01-01T12:00")


def test_after_has_no_fires_of_its_own() -> None:
    schedule = Schedule(ScheduleType.AFTER)
    assert next_fire(schedule, utc("2025-01-01")) is None
    assert first_fire(schedule, utc("2025-01-01")) is None
    assert count_fires(schedule, utc("1970-01-01"), utc("2100-01-01")) == 0


def test_both_bounds_may_be_fires() -> None:
    bounded = cron("0 * * * *", start_at=utc("2025-01-01T10:00"), end_at=utc("2025-01-01T12:00"))
    assert told(bounded, "2024-01-01T00:00", 9) == [
        "2025-01-01 10:00",
        "2025-01-01 11:00",
        "2025-01-01 12:00",
    ]
    assert count_fires(bounded, utc("2024-01-01"), utc("2026-01-01")) == 3


def test_a_bound_between_fires_is_to_the_millisecond() -> None:
    late = cron("0 * * * *", start_at=utc("2025-01-01T10:00:00.001"))
    assert told(late, "2025-01-01T09:00", 1) == ["2025-01-01 11:00"]
    early = cron("0 * * * *", end_at=utc("2025-01-01T09:59:59.999"))
    assert told(early, "2025-01-01T09:00", 1) == []


def test_the_end_of_an_interval() -> None:
    bounded = every(600, "2025-01-01T10:00", end_at=utc("2025-01-01T10:25"))
    assert len(told(bounded, "2024-01-01T00:00", 9)) == 3
    assert next_fire(bounded, utc("2025-01-01T10:20")) is None


def test_fires_up_to_and_including_until() -> None:
    start = utc("2025-01-01T00:00")
    until = start + timedelta(minutes=3)
    assert list(fires(cron("* * * * *"), start, until))[-1] == until
    assert len(list(fires(cron("* * * * *"), start, until, limit=2))) == 2
