"""Change: edits that touch only what they name, and runs beside the schedule."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.job import Job
from lamplighter.domain.policy import Overlap, ScheduleType
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from tests.functions.world import NOON, World


@pytest.fixture
def world() -> World:
    return World()


def _job(world: World, job_id: str) -> Job:
    return world.ledger.job("default", UUID(job_id))


def _put(world: World, job_id: str, **fields: Any) -> Job:
    answer = world.call("PUT", f"/jobs/{job_id}", fields)
    assert answer.status == 200, answer.body
    return _job(world, job_id)


def test_a_time_put_on_a_cron_job_makes_it_a_one_off(world: World) -> None:
    job_id = world.call.submit(
        cron_expression="0 0 * * *", timezone="Asia/Tokyo", dst={"gap": "skip"}, catch_up="all"
    )

    job = _put(world, job_id, schedule_time="2030-01-01T12:02:00Z")

    assert job.schedule.schedule_type is ScheduleType.FUTURE
    assert job.schedule.cron_expression is None
    assert (job.schedule.timezone, job.overlap, job.repeats) == ("Asia/Tokyo", Overlap.ALLOW, False)
    runs = world.ledger.runs("default", job.job_id)
    assert [run.fire_at for run in runs] == [NOON + timedelta(minutes=2)]
    assert world.hinted[-1].run_id == runs[0].run_id


def test_a_cron_put_on_a_one_off_makes_it_recurring(world: World) -> None:
    job_id = world.call.submit(schedule_time="2030-01-01T13:00:00Z")
    job = _put(world, job_id, cron_expression="0 15 * * *")
    assert (job.schedule.schedule_type, job.overlap) == (ScheduleType.CRON, Overlap.FORBID)
    assert job.repeats
    assert [run.fire_at.hour for run in world.ledger.runs("default", job.job_id)] == [15]


def test_a_new_name_leaves_the_schedule_alone(world: World) -> None:
    job_id = world.call.submit(interval_seconds=3600)
    world.wind(minutes=30)
    before = world.ledger.runs("default", UUID(job_id))

    job = _put(world, job_id, name="another")

    assert (job.name, job.version) == ("another", 2)
    assert job.schedule.start_at == NOON
    fires = [run.fire_at for run in world.ledger.runs("default", job.job_id)]
    assert fires == [NOON + timedelta(hours=1), *[run.fire_at for run in before]]


def test_a_job_that_has_run_can_still_be_renamed(world: World) -> None:
    job_id = world.call.submit()
    [due] = world.hinted
    world.finish(due.run_id, world.claim(due.run_id))
    world.wind(hours=2)
    assert _put(world, job_id, name="done").name == "done"
    assert len(world.ledger.runs("default", UUID(job_id))) == 1


def test_an_edit_at_the_very_moment_of_a_fire_does_not_lose_it(world: World) -> None:
    """Our clock may run a little ahead of the ledger's, which then still thinks it is to come."""
    job_id = world.call.submit(cron_expression="0 * * * *")
    world.wind(minutes=60, milliseconds=-5)
    ahead = world.clock() + timedelta(milliseconds=10)
    world.desk = msgspec.structs.replace(world.desk, now=lambda: ahead)

    _put(world, job_id, priority=1)

    fires = [run.fire_at for run in world.ledger.runs("default", UUID(job_id))]
    assert NOON + timedelta(hours=1) in fires


def test_null_puts_a_field_back_to_its_default(world: World) -> None:
    job_id = world.call.submit(
        priority=1, timeout_seconds=5, tags=["a"], payload={"a": 1}, critical=True,
        metadata={"a": 1}, ordering_key="k", overlap="queue",
    )  # fmt: skip
    job = _put(
        world, job_id, priority=None, timeout_seconds=None, tags=None, payload=None,
        critical=None, metadata=None, ordering_key=None, overlap=None,
    )  # fmt: skip
    assert (job.priority, job.timeout_seconds, job.tags, job.payload) == (5, None, (), None)
    assert (job.policy.critical, job.policy.metadata, job.ordering_key) == (False, {}, None)
    assert job.overlap is Overlap.ALLOW


@pytest.mark.parametrize("fields", [{"command": "true"}, {"timeout_seconds": 301}])
def test_the_pool_follows_what_belongs_elsewhere(world: World, fields: dict[str, Any]) -> None:
    followed, chosen = world.call.submit(), world.call.submit(pool="eu")

    assert _put(world, followed, **fields).pool == "tasks"
    assert _put(world, chosen, **fields).pool == "eu"
    assert _put(world, chosen, pool=None).pool == "tasks"


def test_the_pool_comes_back_with_what_took_it_away(world: World) -> None:
    job_id = world.call.submit(timeout_seconds=301)
    assert _put(world, job_id, priority=1).pool == "tasks"
    assert _put(world, job_id, timeout_seconds=60).pool == "default"
    assert _put(world, job_id, timeout_seconds=600, pool="default").pool == "default"
    assert _put(world, job_id, priority=2).pool == "default"


def test_nothing_said_is_nothing_changed(world: World) -> None:
    job_id = world.call.submit()
    assert _put(world, job_id).version == 1


def test_a_pool_replaces_a_fan_out(world: World) -> None:
    job_id = world.call.submit(schedule_time="2030-01-01T13:00:00Z", fan_out=["a", "b"])
    assert _put(world, job_id, pool="c").pools == ("c",)
    assert _put(world, job_id, fan_out=["a"]).pools == ("a",)


def test_if_match_guards_an_edit(world: World) -> None:
    job_id = world.call.submit()
    etag = world.call("GET", f"/jobs/{job_id}").headers["etag"]
    put = ("PUT", f"/jobs/{job_id}", {"name": "mine"})

    assert world.call(*put, headers={"If-Match": etag}).headers["etag"] == '"2"'
    refused = world.call(*put, headers={"If-Match": etag})
    assert (refused.status, refused.error["code"]) == (412, "version_conflict")
    assert world.call(*put, headers={"If-Match": "*"}).status == 200
    assert world.call(*put, headers={"If-Match": "x"}).status == 422


def test_an_edit_without_a_version_outlasts_all_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = world.call.submit()
    others, reschedule = iter(range(2, 33)), world.ledger.reschedule

    def overtaken(job: Job, **rest: Any) -> Job:
        number = next(others, None)
        if number is not None:
            before = _job(world, job_id)
            other = msgspec.structs.replace(before, name=f"edit {number}")
            first, later = rest["first_fire"], rest["next_fire"]
            reschedule(other, expected_version=before.version, first_fire=first, next_fire=later)
        return reschedule(job, **rest)

    monkeypatch.setattr(world.ledger, "reschedule", overtaken)

    job = _put(world, job_id, priority=1)
    assert (job.name, job.priority, job.version) == ("edit 32", 1, 33)


def test_a_cancelled_job_is_not_changed(world: World) -> None:
    job_id = world.call.submit()
    world.call("DELETE", f"/jobs/{job_id}")
    for method, path in (("PUT", ""), ("POST", "/runNow"), ("POST", "/pause"), ("POST", "/resume")):
        refused = world.call(method, f"/jobs/{job_id}{path}", {"name": "x"} if not path else None)
        assert (refused.status, refused.error["code"]) == (409, "job_ended"), path


def test_pause_and_resume(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 0 * * *")
    assert world.call("POST", f"/jobs/{job_id}/pause").body["status"] == "PAUSED"
    assert world.call("POST", f"/jobs/{job_id}/pause").status == 200
    assert world.call("POST", f"/jobs/{job_id}/resume", {}).body["status"] == "SCHEDULED"
    assert world.call("POST", f"/jobs/{job_id}/pause", {"until": "x"}).status == 422


def test_run_now_makes_a_run_beside_the_schedule(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 0 * * *", fan_out=["a", "b"])

    made = world.call("POST", f"/jobs/{job_id}/runNow")

    assert len(made.body["run_ids"]) == 2
    assert [due.due_at for due in world.hinted] == [NOON, NOON]
    assert len(world.ledger.runs("default", UUID(job_id))) == 4


def test_run_now_twice_under_one_key_is_one_run(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 0 * * *")
    path, headers = f"/jobs/{job_id}/runNow", {"Idempotency-Key": "k"}
    first = world.call("POST", path, headers=headers)
    world.wind(seconds=5)
    again = world.call("POST", path, headers=headers)
    other = world.call("POST", path, headers={"Idempotency-Key": "other"})
    assert again.body == first.body != other.body
    origin = world.ledger.run("default", UUID(first.body["run_ids"][0])).origin
    assert origin == "now:k"


def test_run_now_leads_its_dependents_on_where_that_is_asked_for(world: World) -> None:
    up = world.call.submit(name="up", cron_expression="0 0 * * *")
    other = world.call.submit(name="other", cron_expression="0 0 * * *")
    down = world.call.submit(name="down", after=[up, other])
    path = f"/jobs/{up}/runNow"

    for alone in (None, {}, {"cascade": False}):
        assert world.call("POST", path, alone).status == 202
    assert _asked_for(world, down) == []
    made = world.call("POST", path, {"cascade": True}, headers={"Idempotency-Key": "k"})

    assert (made.status, len(made.body["run_ids"])) == (202, 1)
    [run_id] = map(UUID, made.body["run_ids"])
    [run] = _asked_for(world, down)
    assert (run.origin, run.state, run.fire_at) == ("now:k", RunState.BLOCKED, NOON)
    told = world.call("GET", f"/runs/{run.run_id}/explain").body["explanation"]
    assert "waits for its upstreams: 'up' (SCHEDULED); it gives up" in told
    world.finish(run_id, world.claim(run_id))
    world.ledger.free_dependents([run_id])
    assert _asked_for(world, down)[0].state is RunState.SCHEDULED


def _asked_for(world: World, job_id: str) -> list[Run]:
    runs = world.ledger.runs("default", UUID(job_id))
    return [run for run in runs if run.origin.startswith("now:")]


def test_a_cascade_is_made_once_under_one_key_and_is_another_request(world: World) -> None:
    up = world.call.submit(cron_expression="0 0 * * *")
    down = world.call.submit(after=[up])
    path, key = f"/jobs/{up}/runNow", {"Idempotency-Key": "k"}

    first, again = (world.call("POST", path, {"cascade": True}, headers=key) for _ in range(2))

    assert again.body == first.body
    assert again.headers["idempotency-replayed"] == "true"
    assert len(_asked_for(world, down)) == 1
    for other in (None, {}, {"cascade": False}):
        assert world.call("POST", path, other, headers=key).status == 409


def test_nothing_and_a_default_that_is_written_out_are_one_request(world: World) -> None:
    path = f"/jobs/{world.call.submit(cron_expression='0 0 * * *')}/runNow"
    bodies = [None, {}, {"cascade": False}]
    made = [world.call("POST", path, each, headers={"Idempotency-Key": "k"}) for each in bodies]
    assert [each.body for each in made] == [made[0].body] * 3


@pytest.mark.parametrize("body", [{"cascade": "yes"}, {"cascade": None}, {"cascades": True}])
def test_run_now_understands_no_other_word(world: World, body: dict[str, object]) -> None:
    refused = world.call("POST", f"/jobs/{world.call.submit()}/runNow", body)
    assert (refused.status, refused.error["field"]) == (422, next(iter(body)))


def test_a_backfill_makes_up_for_past_fires(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 * * * *")
    body = {"start": "2029-12-31T00:00:00Z", "end": "2029-12-31T06:00:00Z", "at_once": 2}

    made = world.call("POST", f"/jobs/{job_id}/backfill", body, headers={"Idempotency-Key": "b"})
    again = world.call("POST", f"/jobs/{job_id}/backfill", body, headers={"Idempotency-Key": "b"})

    assert (made.status, made.body["fires"], len(made.body["run_ids"])) == (202, 6, 6)
    assert again.body == made.body
    run = world.ledger.run("default", UUID(made.body["run_ids"][0]))
    assert run.origin == f"backfill:{made.body['backfill_id']}:at_once=2"
    assert len(world.ledger.runs("default", UUID(job_id))) == 7


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"start": "2029-12-31T00:00:00Z", "end": "2030-01-02T00:00:00Z"}, "end"),
        ({"start": "2029-12-31T00:00:00", "end": "2029-12-31T01:00:00Z"}, "start"),
        ({"start": "2029-12-31T00:00:00Z", "end": "2029-12-30T00:00:00Z"}, "start"),
        ({"start": "1990-12-31T00:00:00Z"}, "start"),
        ({"start": "2029-12-01T00:00:00Z", "max_runs": 10}, "max_runs"),
        ({}, "start"),
    ],
)
def test_a_backfill_is_bounded(world: World, body: dict[str, object], field: str) -> None:
    job_id = world.call.submit(cron_expression="0 * * * *")
    refused = world.call("POST", f"/jobs/{job_id}/backfill", body)
    assert (refused.status, refused.error["field"]) == (422, field)


def test_only_a_recurring_job_is_backfilled(world: World) -> None:
    refused = world.call(
        "POST", f"/jobs/{world.call.submit()}/backfill", {"start": "2029-12-31T00:00:00Z"}
    )
    assert (refused.status, refused.error["field"]) == (422, "schedule_type")


def test_edges_can_be_edited(world: World) -> None:
    up, other = world.call.submit(), world.call.submit()
    job_id = world.call.submit(after=[up])
    assert [edge.job_id for edge in _put(world, job_id, after=[other]).after] == [other]
    refused = world.call("PUT", f"/jobs/{job_id}", {"after": []})
    assert (refused.status, refused.error["field"]) == (422, "after")
    refused = world.call("PUT", f"/jobs/{up}", {"after": [job_id], "schedule_type": "AFTER"})
    assert refused.status in {200, 422}


def test_a_job_that_was_read_can_be_put_back_without_its_secrets_being_lost(world: World) -> None:
    headers = {"Authorization": "Bearer hunter2"}
    target = {"type": "http", "url": "https://example.com", "headers": headers}
    job_id = world.call.submit(target=target)
    shown = world.call("GET", f"/jobs/{job_id}").body["target"]

    put = world.call("PUT", f"/jobs/{job_id}", {"target": shown})
    elsewhere = world.call("PUT", f"/jobs/{job_id}", {"target": {**shown, "url": "https://b.org"}})
    copied = world.call("POST", "/jobs", {"name": "copy", "target": shown})

    assert (put.status, put.body["version"]) == (200, 1)
    assert world.ledger.job("default", UUID(job_id)).target == target
    for refused in (elsewhere, copied):
        assert (refused.status, refused.error["field"]) == (422, "target.headers.Authorization")
