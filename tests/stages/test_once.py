"""Every change takes an Idempotency-Key: sent again it is answered again, and made once."""

from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import JobStatus
from tests.functions.calling import Answer
from tests.functions.world import World

KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def world() -> World:
    return World()


def _runs(world: World, job_id: str) -> int:
    return len(world.ledger.runs("default", UUID(job_id)))


def test_a_run_asked_for_twice_at_different_times_is_one_run(world: World) -> None:
    job_id = world.call.submit(cron_expression="@daily", fan_out=["eu", "us"])
    before = _runs(world, job_id)
    path = f"/jobs/{job_id}/runNow"

    first = world.call("POST", path, headers=KEY)
    world.wind(hours=5)
    second = world.call("POST", path, {}, headers=KEY)

    assert (first.status, len(first.body["run_ids"])) == (202, 2)
    assert (second.status, second.body) == (202, first.body)
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    assert _runs(world, job_id) == before + 2
    other = world.call("POST", path, headers={"Idempotency-Key": "other"})
    assert set(other.body["run_ids"]).isdisjoint(first.body["run_ids"])


def test_a_run_is_found_again_when_its_answer_was_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.call.submit(cron_expression="@daily")
    path = f"/jobs/{job_id}/runNow"

    def lost(*_: object) -> None:
        raise LedgerUnavailable("gone just now")

    with monkeypatch.context() as patched:
        patched.setattr(world.ledger, "answer_key", lost)
        first = world.call("POST", path, headers=KEY)
    world.claim(UUID(first.body["run_ids"][0]))
    world.wind(minutes=5)
    second = world.call("POST", path, headers=KEY)

    assert (first.status, second.status) == (202, 202)
    assert second.body == first.body
    assert "idempotency-replayed" not in second.headers


def test_a_key_is_remembered_for_a_day(world: World) -> None:
    path = f"/jobs/{world.call.submit(cron_expression='@daily')}/runNow"
    first = world.call("POST", path, headers=KEY).body
    world.wind(hours=25)
    assert world.call("POST", path, headers=KEY).body != first


START, LATER = "2029-12-30T00:00:00Z", "2029-12-31T00:00:00Z"
CHANGES: list[tuple[str, str, Any, Any]] = [
    ("PUT", "/jobs/{job}", {"name": "y"}, {"name": "z"}),
    ("POST", "/jobs/{job}/backfill", {"start": START}, {"start": LATER}),
]


@pytest.mark.parametrize(("method", "path", "body", "other"), CHANGES)
def test_another_body_under_the_same_key_is_a_conflict(
    world: World, method: str, path: str, body: Any, other: Any
) -> None:
    path = path.replace("{job}", world.call.submit(cron_expression="@daily"))
    first = world.call(method, path, body, headers=KEY)
    world.wind(hours=20)
    again = world.call(method, path, body, headers=KEY)
    refused = world.call(method, path, other, headers=KEY)
    assert (again.status, again.body) == (first.status, first.body)
    assert (refused.status, refused.error["code"]) == (409, "idempotency_conflict")


def test_a_late_retry_does_not_undo_what_came_after_it(world: World) -> None:
    job_id = world.call.submit()
    path = f"/jobs/{job_id}"
    first = world.call("PUT", path, {"name": "first"}, headers={**KEY, "If-Match": '"1"'})
    world.call("PUT", path, {"name": "second"})

    retry = world.call("PUT", path, {"name": "first"}, headers={**KEY, "If-Match": '"1"'})

    assert (retry.status, retry.body, retry.headers["etag"]) == (200, first.body, '"2"')
    assert world.ledger.job("default", UUID(job_id)).name == "second"


def test_a_twin_that_was_too_late_takes_no_answer_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/jobs/{world.call.submit()}"
    keep, twins = world.ledger.answer_key, []

    def put() -> Answer:
        return world.call("PUT", path, {"name": "y"}, headers={**KEY, "If-Match": '"1"'})

    def keep_late(*given: Any) -> None:
        twins.append(put().status)
        keep(*given)

    with monkeypatch.context() as patched:
        patched.setattr(world.ledger, "answer_key", keep_late)
        first = put()
    again = put()

    assert (first.status, twins) == (200, [412])
    assert (again.status, again.body) == (200, first.body)
    assert again.headers["idempotency-replayed"] == "true"


def test_a_late_pause_does_not_undo_a_resume(world: World) -> None:
    job_id = world.call.submit(cron_expression="@daily")
    for change in ("pause", "resume", "pause"):
        headers = KEY if change == "pause" else {}
        assert world.call("POST", f"/jobs/{job_id}/{change}", headers=headers).status == 200
    assert world.ledger.job("default", UUID(job_id)).status is JobStatus.SCHEDULED


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_a_refused_change_leaves_its_key_free(world: World, method: str) -> None:
    path = "/jobs/6f1e2a7c-0000-4000-8000-000000000000"
    assert world.call(method, path, {"name": "x"}, headers=KEY).status == 404
    assert world.call(method, path, {"name": "y"}, headers=KEY).status == 404


def test_one_key_may_serve_a_submission_and_a_change(world: World) -> None:
    job_id = world.call("POST", "/jobs", {"name": "x"}, headers=KEY).body["job_id"]
    assert world.call("POST", f"/jobs/{job_id}/pause", headers=KEY).status == 200
    assert world.call("DELETE", f"/jobs/{job_id}", headers=KEY).status == 200


def test_cancelling_and_deciding_a_run_take_keys_too(world: World) -> None:
    world.call.submit()
    path = f"/runs/{world.hinted[0].run_id}"
    for _ in range(2):
        assert world.call("POST", f"{path}/cancel", headers=KEY).body["status"] == "CANCELLED"
    assert world.call("POST", f"{path}/decide", {"status": "FAILED"}, headers=KEY).status == 409


def test_what_is_kept_shows_no_secret(world: World) -> None:
    target = {"type": "http", "url": "https://example.com", "headers": {"Cookie": "hunter2"}}
    job_id = world.call.submit(target=target)
    world.call("PUT", f"/jobs/{job_id}", {"name": "y"}, headers=KEY)
    kept = [each.use.answer for each in world.ledger._books.idempotency.values()]
    assert kept
    assert b"hunter2" not in msgspec.json.encode(kept)
