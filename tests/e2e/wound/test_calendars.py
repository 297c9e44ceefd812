"""Calendars, bounds, jitter and pauses, lived through: fires that do not exist, and those that do.

Over one bus: it has no calendar.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from tests.e2e.wound.world import World, Worlds

START: Final = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
HOURLY: Final = {"schedule_type": "CRON", "cron_expression": "0 * * * *"}


@pytest.fixture(scope="module")
def _world(worlds: Worlds) -> World:
    return worlds(START)


@pytest.fixture
def world(_world: World) -> Iterator[World]:
    """One for all: each test begins just after 20:30 of some day; the checker looks at its end."""
    now = _world.now
    _world.walk(now.replace(hour=20, minute=30, second=0, microsecond=0) + timedelta(days=1))
    _world.begin()
    yield _world
    _world.cancel_all()
    _world.verify()


def _put(world: World, name: str, **body: Any) -> int:
    return int(world.ask("PUT", f"/calendars/{name}", body)["version"])


def _day(world: World, days: int) -> str:
    return (world.now + timedelta(days=days)).date().isoformat()


def test_an_excluded_day_has_no_fires(world: World) -> None:
    _put(world, "holidays", dates=[_day(world, 1)])
    job = world.submit(**HOURLY, calendar={"exclude": ["holidays"]})

    world.walk(hours=28)

    # At 21, 22 and 23 o'clock, and again from the midnight after the next on.
    assert world.told(job)[:4] == [f"+{minute} SUCCESS" for minute in (30, 90, 150, 1650)]


def test_a_job_that_is_limited_to_days_runs_on_those_alone(world: World) -> None:
    _put(world, "workdays", dates=[_day(world, 1)])
    job = world.submit(
        **{**HOURLY, "cron_expression": "0 */6 * * *"}, calendar={"only": ["workdays"]}
    )

    world.walk(hours=36)

    assert world.told(job) == [f"+{minute} SUCCESS" for minute in (210, 570, 930, 1290)]


def test_a_new_version_takes_away_fires_that_are_not_written_down(world: World) -> None:
    _put(world, "changing", dates=[_day(world, 30)])
    job = world.submit(**HOURLY, calendar="changing")
    world.walk(minutes=28)  # the next one is written down, two minutes ahead

    version = _put(world, "changing", dates=[_day(world, 0), _day(world, 30)])
    world.walk(hours=5)

    assert version == 2
    assert world.told(job)[:2] == ["+30 SUCCESS", "+210 SUCCESS"]


def test_a_new_version_gives_fires_back(world: World) -> None:
    _put(world, "giving", dates=[_day(world, 0), _day(world, 1)])
    job = world.submit(**HOURLY, calendar="giving")
    world.walk(minutes=45)

    _put(world, "giving", dates=[_day(world, 1)])
    world.walk(hours=2)

    assert world.told(job)[:2] == ["+90 SUCCESS", "+150 SUCCESS"]


def test_jitter_delays_the_start_and_not_the_fire(world: World) -> None:
    jobs = [world.submit(**HOURLY, jitter_seconds=1200) for _ in range(5)]

    world.walk(hours=2)

    for job in jobs:
        runs = world.runs(job)[:2]
        assert [run.fire_at.minute for run in runs] == [0, 0]
        delays = {run.due_at - run.fire_at for run in runs}
        assert len(delays) == 1
        for run in runs:
            assert run.start_time is not None
            assert run.start_time >= run.due_at
            assert run.start_time - run.due_at < timedelta(seconds=60)
    assert len({world.runs(job)[0].due_at for job in jobs}) > 1


def test_start_at_and_end_at_are_both_fires(world: World) -> None:
    first = world.now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=3)
    job = world.submit(
        **HOURLY, start_at=first.isoformat(), end_at=(first + timedelta(hours=1)).isoformat()
    )

    world.walk(hours=6)

    assert world.told(job) == ["+150 SUCCESS", "+210 SUCCESS"]


def test_a_pause_over_several_fires_records_each(world: World) -> None:
    job = world.submit(**HOURLY)
    world.walk(minutes=45)

    world.ask("POST", f"/jobs/{job}/pause")
    world.walk(hours=2)
    world.ask("POST", f"/jobs/{job}/resume")
    world.walk(hours=1)

    paused = [f"+{minute} SKIPPED paused" for minute in (90, 150)]
    assert world.told(job)[:4] == ["+30 SUCCESS", *paused, "+210 SUCCESS"]
