"""Intervals: elapsed time, counted from an anchor."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import Schedule, count_fires, fires_between, first_fire, next_fire
from tests.domain.schedule.helpers import every, laws, told, utc


def test_the_anchor_is_the_first_fire() -> None:
    schedule = every(90, "2025-01-01T00:00:10")
    assert told(schedule, "2024-06-01T00:00", 3) == [
        "2025-01-01 00:00:10",
        "2025-01-01 00:01:40",
        "2025-01-01 00:03:10",
    ]


def test_an_interval_ignores_what_clocks_do() -> None:
    daily = every(86_400, "2025-03-29T08:00", timezone="Europe/Berlin")
    assert told(daily, "2025-03-29T08:00", 2) == ["2025-03-30 08:00", "2025-03-31 08:00"]


def test_milliseconds_never_drift() -> None:
    schedule = every(1.001, "2025-01-01T00:00:00.007")
    late = next_fire(schedule, utc("2045-01-01T00:00"))
    assert late is not None
    passed = (late - utc("2025-01-01T00:00:00.007")) / timedelta(milliseconds=1001)
    assert passed == int(passed)


@laws(200)
@given(
    st.integers(1000, 10_000_000),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
def test_counting_agrees_with_walking(step_ms: int, start_ms: int, length_ms: int) -> None:
    anchor = utc("2025-01-01T00:00")
    schedule = every(step_ms / 1000, anchor.isoformat())
    start = anchor + timedelta(milliseconds=start_ms - 10**8)
    end = start + timedelta(milliseconds=min(length_ms, 200 * step_ms))
    walked = fires_between(schedule, start, end)
    assert count_fires(schedule, start, end) == len(walked)
    assert all((fire - anchor) % timedelta(milliseconds=step_ms) == timedelta(0) for fire in walked)
    assert len(walked) == len(set(walked))


def test_the_first_fire_of_a_new_job_is_not_in_the_past() -> None:
    schedule = every(60, "2025-01-01T00:00")
    assert first_fire(schedule, utc("2025-01-01T00:10:30")) == utc("2025-01-01T00:11")
    assert first_fire(schedule, utc("2025-01-01T00:10:00")) == utc("2025-01-01T00:10")


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        (Schedule(ScheduleType.INTERVAL, start_at=utc("2025-01-01")), "interval_seconds"),
        (Schedule(ScheduleType.INTERVAL, interval_seconds=5), "start_at"),
        (Schedule(ScheduleType.CRON), "cron_expression"),
        (Schedule(ScheduleType.FUTURE), "schedule_time"),
    ],
)
def test_what_was_never_validated_says_what_is_missing(schedule: Schedule, field: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        next_fire(schedule, utc("2025-01-01"))
    assert refusal.value.field == field
