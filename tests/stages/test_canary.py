"""The canary: the scheduler's own job, made and unmade at deployments."""

from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.domain.canary import CANARY_NAME, INTERNAL_TENANT, canary_id, is_canary
from lamplighter.domain.job import JobStatus
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_queries import LAST_ID, JobFilter, RunFilter
from lamplighter.stages.canary import ensure_canary
from tests.functions.world import World


@pytest.fixture
def world() -> World:
    return World()


def _future(world: World, job_id: UUID) -> list[UUID]:
    page = world.ledger.list_runs(INTERNAL_TENANT, RunFilter(job_id), LAST_ID, 100)
    return [run.run_id for run in page.items if run.state is RunState.SCHEDULED]


def test_it_fires_on_whole_multiples_of_its_interval(world: World) -> None:
    job_id = ensure_canary(world.desk, 60)
    assert job_id == canary_id(0)
    job = world.ledger.job(INTERNAL_TENANT, job_id)
    [run] = world.ledger.runs(INTERNAL_TENANT, job_id)
    assert (job.name, job.target) == (CANARY_NAME, {"type": "python", "handler": "builtin.canary"})
    assert run.fire_at.timestamp() % 60 == 0
    assert timedelta(0) < run.fire_at - world.desk.now() <= timedelta(seconds=60)


def test_a_second_deployment_changes_nothing(world: World) -> None:
    job_id = ensure_canary(world.desk, 60)
    assert job_id is not None
    before = world.ledger.job(INTERNAL_TENANT, job_id)
    assert ensure_canary(world.desk, 60) == job_id
    assert world.ledger.job(INTERNAL_TENANT, job_id) == before
    assert len(_future(world, job_id)) == 1


def test_another_interval_is_the_same_canary(world: World) -> None:
    job_id = ensure_canary(world.desk, 60)
    assert ensure_canary(world.desk, 3600) == job_id
    assert job_id is not None
    assert world.ledger.job(INTERNAL_TENANT, job_id).schedule.interval_seconds == 3600
    [run] = world.ledger.runs(INTERNAL_TENANT, job_id)
    assert run.fire_at.timestamp() % 3600 == 0


def test_switched_off_it_ends_and_switched_on_there_is_another(world: World) -> None:
    first = ensure_canary(world.desk, 60)
    assert first is not None
    assert ensure_canary(world.desk, 0) is None
    assert world.ledger.job(INTERNAL_TENANT, first).status is JobStatus.CANCELLED
    assert _future(world, first) == []
    assert ensure_canary(world.desk, 0) is None

    second = ensure_canary(world.desk, 60)

    assert second == canary_id(1)
    assert is_canary(canary_id(1))
    assert is_canary(first)


def test_where_none_is_wanted_none_is_made(world: World) -> None:
    assert ensure_canary(world.desk, 0) is None
    assert world.ledger.list_jobs(INTERNAL_TENANT, JobFilter(), LAST_ID, 10).items == []


def test_it_is_in_nobodys_list(world: World) -> None:
    ensure_canary(world.desk, 60)
    mine = world.call.submit()
    assert [job["job_id"] for job in world.call("GET", "/jobs").body["jobs"]] == [mine]
    assert {run["job_id"] for run in world.call("GET", "/runs").body["runs"]} == {mine}
    assert world.call("GET", f"/jobs/{canary_id(0)}").status == 404
    [asked_for] = world.call("GET", "/jobs", tenant=INTERNAL_TENANT).body["jobs"]
    assert asked_for["job_id"] == str(canary_id(0))
