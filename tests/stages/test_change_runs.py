"""What a person says about one run: stop it, or what has become of it."""

from datetime import timedelta
from uuid import UUID

import pytest

from tests.functions.world import World


@pytest.fixture
def world() -> World:
    return World()


def _held(world: World) -> UUID:
    world.call.submit(on_ambiguous="hold")
    due = world.hinted[-1]
    world.claim(due.run_id)
    world.wind(minutes=1)
    world.ledger.requeue_lost(timedelta(seconds=15))
    return due.run_id


def test_a_waiting_run_is_cancelled_at_once(world: World) -> None:
    world.call.submit()
    [due] = world.hinted
    for _ in range(2):
        answer = world.call("POST", f"/runs/{due.run_id}/cancel")
        assert (answer.status, answer.body["status"]) == (200, "CANCELLED")


def test_a_running_run_is_asked_to_stop(world: World) -> None:
    world.call.submit()
    [due] = world.hinted
    world.claim(due.run_id)
    answer = world.call("POST", f"/runs/{due.run_id}/cancel")
    assert answer.body["status"] == "CANCELLING"


def test_a_run_of_another_tenant_is_not_found(world: World) -> None:
    run_id = _held(world)
    for path, body in (("cancel", None), ("decide", {"status": "FAILED"})):
        refused = world.call("POST", f"/runs/{run_id}/{path}", body, tenant="other")
        assert (refused.status, refused.error["code"]) == (404, "run_not_found")


@pytest.mark.parametrize("status", ["SUCCESS", "FAILED", "SCHEDULED"])
def test_a_held_run_is_decided_by_a_person(world: World, status: str) -> None:
    run_id = _held(world)
    told = world.call("GET", f"/runs/{run_id}/explain").body["explanation"]
    assert "is held, because worker executor-007 fell silent" in told
    answer = world.call("POST", f"/runs/{run_id}/decide", {"status": status})
    assert (answer.status, answer.body["status"]) == (200, status)


def test_who_waits_for_a_decided_run_learns_of_it(world: World) -> None:
    run_id = _held(world)
    up = world.ledger.run("default", run_id).job_id
    down = world.call.submit(after=[str(up)])
    world.call("POST", f"/runs/{run_id}/decide", {"status": "SUCCESS"})
    assert world.call("GET", f"/jobs/{down}/status").body["latest_run"]["status"] == "QUEUED"


def test_only_a_held_run_is_decided(world: World) -> None:
    world.call.submit()
    path = f"/runs/{world.hinted[0].run_id}/decide"
    refused = world.call("POST", path, {"status": "SUCCESS"})
    assert (refused.status, refused.error["code"]) == (409, "run_not_held")
    assert world.call("POST", path, {"status": "RUNNING"}).error["field"] == "status"
