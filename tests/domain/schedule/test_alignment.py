"""Whether two schedules provably fire together."""

import pytest

from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.schedule import CalendarUse, Schedule, align
from tests.domain.schedule.helpers import both_days, cron, dst, every, utc

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cron("@daily"), cron("0 0 * * *")),
        (cron("0 0 * * 7"), cron("0 0 0 ? * SUN")),
        (cron("0 0 1 * *"), cron("0 0 1 * *", **both_days())),
        (cron("0 * * * *", BERLIN), cron("0 * * * *", BERLIN, dst=dst("skip", "both"))),
        (cron("0 0 * * *"), cron("0 0 * * *", jitter_seconds=9.0)),
        (cron("0 0 * * *"), cron("0 0 * * *", catch_up=CatchUpPolicy(CatchUp.NONE))),
        (every(60, "2025-01-01"), every(60.0, "2025-01-01", timezone=BERLIN)),
        (
            Schedule(ScheduleType.IMMEDIATE, schedule_time=utc("2025-01-01")),
            Schedule(ScheduleType.FUTURE, schedule_time=utc("2025-01-01")),
        ),
        (
            cron("0 0 * * *", calendar=CalendarUse(exclude=("a", "b"))),
            cron("0 0 * * *", calendar=CalendarUse(exclude=("b", "a"))),
        ),
    ],
)
def test_together(one: Schedule, other: Schedule) -> None:
    assert align(one, other)
    assert align(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (cron("0 0 * * *"), cron("1 0 * * *")),
        (cron("0 0 * * *"), cron("0 0 * * *", BERLIN)),
        (cron("0 0 13 * 5"), cron("0 0 13 * 5", **both_days())),
        (cron("0 2 * * *", BERLIN), cron("0 2 * * *", BERLIN, dst=dst(gap="skip"))),
        (cron("0 2 * * *", BERLIN), cron("0 2 * * *", BERLIN, dst=dst(overlap="both"))),
        (cron("0 * * * *", BERLIN), cron("0 0-23 * * *", BERLIN)),
        (cron("0 0 * * *"), cron("0 0 * * *", end_at=utc("2030-01-01"))),
        (cron("0 0 * * *"), cron("0 0 * * *", calendar=CalendarUse(exclude=("a",)))),
        (every(60, "2025-01-01"), every(60, "2025-01-01T00:00:30")),
        (every(60, "2025-01-01"), every(61, "2025-01-01")),
        (every(60, "2025-01-01"), cron("* * * * *")),
        (Schedule(ScheduleType.AFTER), Schedule(ScheduleType.AFTER)),
    ],
)
def test_not_proven(one: Schedule, other: Schedule) -> None:
    assert not align(one, other)
    assert not align(other, one)
