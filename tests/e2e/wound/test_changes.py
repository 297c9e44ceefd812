"""People change their minds while nobody watches: fires that were due by then are told of.

Over one bus: nothing of this passes it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from tests.e2e.wound.world import World, Worlds

START: Final = datetime(2026, 3, 2, 8, 5, tzinfo=UTC)
OFTEN: Final = {"schedule_type": "CRON", "cron_expression": "*/10 * * * *"}
LATE: Final = ["+5 SKIPPED missed_window", "+15 to +165: 16 SKIPPED missed_window"]


@pytest.fixture(scope="module")
def _world(worlds: Worlds) -> World:
    return worlds(START)


@pytest.fixture
def world(_world: World) -> Iterator[World]:
    """Each test begins at five past an hour, and the checker looks at its end."""
    now = _world.now
    _world.walk(now.replace(minute=5, second=0, microsecond=0) + timedelta(hours=1))
    _world.begin()
    yield _world
    _world.cancel_all()
    _world.verify()


def test_a_job_that_is_cancelled_in_an_outage_has_its_late_fires_in_the_ledger(
    world: World,
) -> None:
    job = world.submit(**OFTEN)

    world.jump(hours=3, minutes=2)
    world.ask("DELETE", f"/jobs/{job}")
    world.walk(minutes=15)

    assert world.told(job) == ["+5 CANCELLED", LATE[1], "+175 CANCELLED"]


def test_a_job_that_is_rescheduled_in_an_outage_has_its_late_fires_in_the_ledger(
    world: World,
) -> None:
    job = world.submit(**OFTEN)

    world.jump(hours=3, minutes=2)
    world.ask("PUT", f"/jobs/{job}", {"cron_expression": "0 * * * *"})
    world.walk(minutes=55)

    assert world.told(job)[:4] == [*LATE, "+175 SUCCESS", "+235 SUCCESS"]


def test_a_job_that_is_edited_in_an_outage_loses_no_fire(world: World) -> None:
    job = world.submit(**OFTEN)

    world.jump(hours=3, minutes=2)
    world.ask("PUT", f"/jobs/{job}", {"priority": 1})
    world.walk(minutes=5)

    assert world.told(job)[:4] == [*LATE, "+175 SUCCESS", "+185 SUCCESS"]


def test_a_job_that_is_paused_in_an_outage_has_its_late_fires_in_the_ledger(
    world: World,
) -> None:
    job = world.submit(**OFTEN)

    world.jump(hours=3, minutes=2)
    world.ask("POST", f"/jobs/{job}/pause")
    world.walk(minutes=5)

    paused = [f"+{minute} SKIPPED paused" for minute in (175, 185)]
    assert world.told(job)[:4] == ["+5 SKIPPED paused", LATE[1], *paused]
