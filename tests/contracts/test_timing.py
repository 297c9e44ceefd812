"""What an edit does to a schedule, kind by kind."""

from datetime import UTC, datetime

import pytest

from lamplighter.contracts.http_timing import schedule_of
from lamplighter.domain.policy import Dst, DstGap, ScheduleType
from lamplighter.domain.schedule import Schedule

SOON = datetime(2030, 1, 1, tzinfo=UTC)
CRON = Schedule(
    ScheduleType.CRON,
    cron_expression="0 0 * * *",
    timezone="Asia/Tokyo",
    dst=Dst(DstGap.SKIP),
    end_at=SOON,
)
ONCE = Schedule(ScheduleType.FUTURE, schedule_time=SOON)
AT_ONCE = Schedule(ScheduleType.IMMEDIATE, schedule_time=SOON)


@pytest.mark.parametrize("before", [CRON, ONCE, AT_ONCE, Schedule(ScheduleType.AFTER)])
def test_what_is_not_named_stays(before: Schedule) -> None:
    assert schedule_of({"name": "x"}, before) is before


def test_another_kind_starts_anew_in_the_same_zone() -> None:
    assert schedule_of({"schedule_time": SOON}, CRON) == Schedule(
        ScheduleType.FUTURE, schedule_time=SOON, timezone="Asia/Tokyo"
    )
    assert schedule_of({"interval_seconds": 5.0}, ONCE) == Schedule(
        ScheduleType.INTERVAL, interval_seconds=5.0
    )


def test_the_same_kind_keeps_the_rest() -> None:
    changed = schedule_of({"cron_expression": "5 5 * * *", "end_at": None}, CRON)
    assert changed.dst == CRON.dst
    assert (changed.cron_expression, changed.end_at) == ("5 5 * * *", None)


def test_immediate_said_again_is_at_once_again() -> None:
    said = {"schedule_type": ScheduleType.IMMEDIATE}
    assert schedule_of(said, AT_ONCE) == Schedule(ScheduleType.IMMEDIATE)
