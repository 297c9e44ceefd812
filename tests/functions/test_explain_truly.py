"""What Explain says of runs that were cancelled: only what is so."""

from uuid import UUID

import pytest

from lamplighter.domain.run import Verdict
from tests.functions.world import World


@pytest.fixture
def world() -> World:
    return World()


def _first_run(world: World, job_id: str) -> UUID:
    [run] = world.call("GET", f"/jobs/{job_id}/runs", query={"planned": "true", "limit": "1"}).body
    return UUID(run["run_id"])


def _told(world: World, path: str) -> str:
    said: str = world.call("GET", f"{path}/explain").body["explanation"]
    return said


def _submitted(world: World, **fields: object) -> str:
    job_id: str = world.call("POST", "/jobs", {"name": "x", **fields}).body["job_id"]
    return job_id


def test_a_cancelled_one_off_does_not_fire_next(world: World) -> None:
    job_id = _submitted(world, schedule_time="2030-01-01T13:00:00Z")
    world.call("POST", f"/runs/{_first_run(world, job_id)}/cancel")

    told = _told(world, f"/jobs/{job_id}")

    assert "before it started; it has no fire left" in told


def test_the_next_fire_is_the_first_that_was_not_cancelled(world: World) -> None:
    job_id = _submitted(world, interval_seconds=60, start_at="2030-01-01T12:01:00Z")
    world.call("POST", f"/runs/{_first_run(world, job_id)}/cancel")

    told = _told(world, f"/jobs/{job_id}")

    assert "run of 2030-01-01T12:01:00.000Z cancelled" in told
    assert told.endswith("; it fires next at 2030-01-01T12:02:00.000Z.")


def test_a_run_between_two_attempts_was_not_cancelled_while_it_ran(world: World) -> None:
    run_id = _first_run(world, _submitted(world))
    fence = world.claim(run_id)
    world.wind(seconds=1)
    world.finish(run_id, fence, Verdict.FAILED, "boom")
    world.call("POST", f"/runs/{run_id}/cancel")

    assert "before attempt 2 began" in _told(world, f"/runs/{run_id}")


def test_a_run_that_its_worker_stopped_was_cancelled_while_it_ran(world: World) -> None:
    run_id = _first_run(world, _submitted(world))
    fence = world.claim(run_id)
    world.call("POST", f"/runs/{run_id}/cancel")
    world.finish(run_id, fence, Verdict.CANCELLED)

    assert ", while it ran" in _told(world, f"/runs/{run_id}")
