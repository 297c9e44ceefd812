"""What becomes of fires that nobody watched: after an outage, in a cell whose clock jumps.

Over Streams, and one of them over Kafka: what is late is decided by the planner and at the claim,
before the bus and after it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from lamplighter.domain.run import Run
from tests.e2e.stack import until
from tests.e2e.wound.world import World, Worlds

START: Final = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
EVERY_TEN_MINUTES: Final = {"schedule_type": "CRON", "cron_expression": "*/10 * * * *"}
EVERY_SECOND: Final = {"schedule_type": "INTERVAL", "interval_seconds": 1, "overlap": "allow"}
DAYS_30: Final = 30 * 86_400


@pytest.fixture(scope="module")
def _world(worlds: Worlds) -> World:
    return worlds(START)


@pytest.fixture
def world(_world: World) -> Iterator[World]:
    """One for all: each test begins at five past an hour, and the checker looks at its end."""
    now = _world.clock.now()
    _world.walk(now.replace(minute=5, second=0, microsecond=0) + timedelta(hours=1))
    _world.begin()
    yield _world
    _world.cancel_all()
    _world.verify()


def test_catch_up_latest_runs_the_last_of_the_late_fires_and_counts_the_others(
    world: World,
) -> None:
    job = world.submit(**EVERY_TEN_MINUTES)

    world.jump(hours=3, minutes=2)
    world.walk(minutes=1)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",  # written down with the job
        "+15 to +165: 16 SKIPPED missed_window",
        "+175 SUCCESS",
        "+185 SCHEDULED",
    ]


@pytest.mark.kafka
def test_catch_up_latest_runs_the_last_of_the_late_fires_over_kafka(worlds: Worlds) -> None:
    world = worlds(START, "kafka")
    world.walk(hours=1, minutes=5)
    world.begin()
    job = world.submit(**EVERY_TEN_MINUTES)

    world.jump(hours=3, minutes=2)
    world.walk(minutes=1)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",
        "+15 to +165: 16 SKIPPED missed_window",
        "+175 SUCCESS",
        "+185 SCHEDULED",
    ]
    world.verify()


def test_catch_up_latest_that_is_older_than_its_window_does_not_run(world: World) -> None:
    policy = {"policy": "latest", "window_seconds": 120}
    job = world.submit(**EVERY_TEN_MINUTES, catch_up=policy)

    world.jump(hours=1, minutes=3)
    world.walk(minutes=1)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",
        "+15 to +55: 5 SKIPPED missed_window",
        "+65 SCHEDULED",
    ]


def test_catch_up_all_runs_the_late_fires_of_its_window(world: World) -> None:
    policy = {"policy": "all", "window_seconds": 3600}
    job = world.submit(**EVERY_TEN_MINUTES, overlap="allow", catch_up=policy)

    world.jump(hours=3, minutes=2)
    world.walk(minutes=1)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",
        "+15 to +115: 11 SKIPPED missed_window",
        *(f"+{minute} SUCCESS" for minute in (125, 135, 145, 155, 165, 175)),
        "+185 SCHEDULED",
    ]


def test_catch_up_all_runs_no_more_than_its_limit(world: World) -> None:
    policy = {"policy": "all", "window_seconds": 86_400, "limit": 2}
    job = world.submit(**EVERY_TEN_MINUTES, overlap="allow", catch_up=policy)

    world.jump(hours=3, minutes=2)
    world.walk(minutes=1)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",
        "+15 to +155: 15 SKIPPED missed_window",
        "+165 SUCCESS",
        "+175 SUCCESS",
        "+185 SCHEDULED",
    ]


def test_catch_up_none_runs_no_late_fire_and_the_next_one_on_time(world: World) -> None:
    job = world.submit(**EVERY_TEN_MINUTES, catch_up="none")

    world.jump(hours=3, minutes=2)
    world.walk(minutes=4)

    assert world.told(job) == [
        "+5 SKIPPED missed_window",
        "+15 to +175: 17 SKIPPED missed_window",
        "+185 SUCCESS",
    ]


def test_a_fire_that_is_less_than_a_minute_late_simply_runs(world: World) -> None:
    job = world.submit(**EVERY_TEN_MINUTES, catch_up="none")

    world.jump(minutes=5, seconds=50)
    world.walk(minutes=1)

    assert world.told(job) == ["+5 SUCCESS"]


def test_fires_that_were_planned_before_the_outage_are_judged_when_it_is_over(
    world: World,
) -> None:
    job = world.submit(schedule_type="CRON", cron_expression="* * * * *", overlap="allow")
    world.walk(minutes=1, seconds=30)

    world.jump(minutes=10)
    world.walk(seconds=20)

    told = world.told(job)
    assert told[0] == "+1 SUCCESS"
    assert _counted(world.runs(job), "SKIPPED") == 8  # +2 to +9: planned to +6, missed from there
    assert "+10 SUCCESS" in told


def test_intervals_do_not_drift_over_an_outage(world: World) -> None:
    job = world.submit(schedule_type="INTERVAL", interval_seconds=420, catch_up="none")
    anchor = world.runs(job)[0].fire_at

    world.walk(minutes=15)
    world.jump(hours=2, minutes=1)
    world.walk(minutes=15)

    runs = world.runs(job)
    assert _counted(runs, "SUCCESS") == 5
    assert {(run.fire_at - anchor).total_seconds() % 420 for run in runs} == {0.0}


def test_a_future_job_that_was_due_during_the_outage_runs_however_late(world: World) -> None:
    soon, later = (world.now + timedelta(minutes=minutes) for minutes in (2, 600))
    jobs = [
        world.submit(schedule_type="FUTURE", schedule_time=moment.isoformat())
        for moment in (soon, later)
    ]

    world.jump(hours=30)
    world.walk(minutes=1)

    assert [world.told(job) for job in jobs] == [["+2 SUCCESS"], ["+600 SUCCESS"]]


def test_a_job_that_expired_during_the_outage_does_not_run(world: World) -> None:
    once = {
        "schedule_type": "FUTURE",
        "schedule_time": (world.now + timedelta(minutes=10)).isoformat(),
    }
    expired = world.submit(**once, expires_at=(world.now + timedelta(minutes=20)).isoformat())
    started_late = world.submit(**once, start_deadline_seconds=900)
    in_time = world.submit(**once, start_deadline_seconds=3600)

    world.jump(minutes=30)
    world.walk(minutes=1)

    assert world.told(expired) == ["+10 SKIPPED expired"]
    assert world.told(started_late) == ["+10 SKIPPED expired"]
    assert world.told(in_time) == ["+10 SUCCESS"]


@pytest.mark.parametrize(
    ("policy", "made_up"),
    [
        ({"policy": "latest"}, 1),
        ({"policy": "all", "window_seconds": DAYS_30, "limit": 1100}, 1100),
    ],
    ids=["latest", "all"],
)
def test_thirty_days_of_a_fire_a_second_settle_in_pages(
    worlds: Worlds, policy: dict[str, object], made_up: int
) -> None:
    world = worlds(START)
    job = world.submit(**EVERY_SECOND, catch_up=policy)
    world.walk(seconds=2)

    world.jump(days=30)
    world.walk(seconds=5)

    [outage] = [run for run in world.runs(job) if run.missed_count > 1]
    assert outage.missed_count > DAYS_30 - made_up - 600
    assert outage.missed_to is not None
    # The clock does not wait for them: some grow too old on the way to their worker.
    made_up_for = [run for run in world.runs(job) if run.fire_at > outage.missed_to]
    assert _counted(made_up_for, "SUCCESS") > made_up / 2
    report = world.verify()
    assert {each.rule: each.checked for each in report.rules}["missed_fires_are_counted"] > 0


def test_after_a_long_outage_submissions_go_straight_into_the_ledger(worlds: Worlds) -> None:
    world = worlds(START)
    world.jump(days=20)
    until(lambda: _days_are_ready(world), "the days are made")

    job = world.submit(schedule_type="IMMEDIATE")

    assert [run.state.name for run in world.runs(job)] == ["SCHEDULED"]
    world.walk(seconds=1)
    assert [run.state.name for run in world.runs(job)] == ["SUCCESS"]
    world.verify()


def _days_are_ready(world: World) -> bool:
    world.walk(seconds=1)
    [(ready,)] = world.clock.rows("SELECT ready_to > clock_timestamp() FROM ledger_bounds")
    return bool(ready)


def _counted(runs: list[Run], state: str) -> int:
    return sum(run.missed_count for run in runs if run.state.name == state)
