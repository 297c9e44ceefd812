"""Submit: what a body becomes, and what happens when it comes twice."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.ids import derived_job_id
from lamplighter.domain.policy import CatchUp, Overlap, ScheduleType
from lamplighter.domain.run import Due
from lamplighter.domain.schedule import Calendar
from lamplighter.domain.target import parse_but_commands
from lamplighter.stages.plan import HORIZON
from tests.functions.world import NOON, World


@pytest.fixture
def world() -> World:
    return World()


def _key(key: str) -> dict[str, str]:
    return {"Idempotency-Key": key}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, ScheduleType.IMMEDIATE),
        ({"cron_expression": "0 0 * * *"}, ScheduleType.CRON),
        ({"interval_seconds": 60}, ScheduleType.INTERVAL),
        ({"schedule_time": "2030-01-01T13:00:00Z"}, ScheduleType.FUTURE),
        ({"schedule_time": None, "cron_expression": None}, ScheduleType.IMMEDIATE),
    ],
)
def test_the_kind_of_schedule_is_inferred(
    world: World, fields: dict[str, object], kind: ScheduleType
) -> None:
    job = world.ledger.job("default", UUID(world.call.submit(**fields)))
    assert job.schedule.schedule_type is kind


def test_a_recurring_job_does_not_overtake_itself_unless_it_says_so(world: World) -> None:
    cron = {"cron_expression": "* * * * *"}
    ids = [
        world.call.submit(),
        world.call.submit(**cron),
        world.call.submit(**cron, overlap="allow"),
    ]
    overlaps = [world.ledger.job("default", UUID(each)).overlap for each in ids]
    assert overlaps == [Overlap.ALLOW, Overlap.FORBID, Overlap.ALLOW]


def test_a_run_in_a_pool_that_nobody_serves_would_wait_forever(world: World) -> None:
    job = world.call.submit(cron_expression="* * * * *", pool="moon")
    world.desk = msgspec.structs.replace(world.desk, pools=("tasks", "default"))
    new = {"name": "a job", "fan_out": ["tasks", "moon"]}

    answers = [
        world.call("POST", "/jobs", {"name": "a job", "pool": "moon"}),
        world.call("POST", "/jobs", new),
        world.call("PUT", f"/jobs/{job}", {"pool": "mars"}),
    ]

    assert [answer.status for answer in answers] == [422] * 3
    fields = [answer.error["field"] for answer in answers]
    assert fields == ["pool", "fan_out[1]", "pool"]
    assert "default, tasks" in answers[0].error["message"]
    assert world.call("PUT", f"/jobs/{job}", {"priority": 1}).status == 200


def test_every_field_is_kept_and_shown(world: World) -> None:
    world.ledger.save_calendar("default", Calendar("holidays", dates=(NOON.date(),)))
    fields = {
        "target": {"type": "http", "url": "https://example.com"},
        "payload": [1, {"a": None}],
        "cron_expression": "0 9 * * MON",
        "timezone": "Europe/Berlin",
        "start_at": "2030-02-01T00:00:00.000Z",
        "end_at": "2031-02-01T00:00:00.000Z",
        "jitter_seconds": 5.0,
        "catch_up": {"policy": "all", "window_seconds": 60, "limit": 3},
        "overlap": "queue",
        "dst": {"gap": "skip", "overlap": "both"},
        "priority": 1,
        "timeout_seconds": 120,
        "backoff": {"base_seconds": 2.0, "factor": 3.0, "cap_seconds": 10.0, "jitter": False},
        "day_match": "and",
        "calendar": {"exclude": ["holidays"], "only": []},
        "start_deadline_seconds": 30,
        "expires_at": "2031-01-01T00:00:00.000Z",
        "pool": "eu",
        "ordering_key": "customer-7",
        "max_concurrency": 2,
        "concurrency_key": "printer",
        "trigger_rule": "all_done",
        "blocked_seconds": 600,
        "critical": True,
        "on_ambiguous": "hold",
        "tags": ["a", "b"],
        "metadata": {"team": "x"},
        "max_retries": 0,
    }

    shown = world.call("GET", f"/jobs/{world.call.submit(**fields)}").body

    assert {name: shown[name] for name in fields} == fields
    assert shown["class"] == "P1"


def test_short_forms_are_understood(world: World) -> None:
    world.ledger.save_calendar("default", Calendar("holidays", dates=(NOON.date(),)))
    up = world.call.submit()
    job_id = world.call.submit(cron_expression="0 9 * * *", catch_up="none", calendar="holidays")
    job = world.ledger.job("default", UUID(job_id))
    assert job.schedule.catch_up.policy is CatchUp.NONE
    assert job.schedule.calendar.exclude == ("holidays",)
    edged = world.call.submit(after=[{"job_id": up, "rule": "latest_success", "within_seconds": 9}])
    assert world.call("GET", f"/jobs/{edged}").body["after"] == [
        {"job_id": up, "rule": "latest_success", "within_seconds": 9}
    ]


def test_a_fan_out_makes_a_run_per_pool(world: World) -> None:
    world.call.submit(fan_out=["eu", "us"])
    assert sorted(due.pool for due in world.hinted) == ["eu", "us"]


@pytest.mark.parametrize(
    "body", [{"command": "make"}, {"target": {"type": "command", "command": "make"}}]
)
def test_where_commands_are_off_none_is_accepted(world: World, body: dict[str, object]) -> None:
    world.desk = msgspec.structs.replace(world.desk, check_target=parse_but_commands)

    refused = world.call("POST", "/jobs", {"name": "x", **body})
    edited = world.call("PUT", f"/jobs/{world.call.submit()}", body)

    for answer in (refused, edited):
        assert (answer.status, answer.error["field"]) == (422, "target.type")
        assert "-c commands=true" in answer.error["message"]


def test_a_command_and_a_long_job_belong_to_the_tasks_pool(world: World) -> None:
    ids = [
        world.call.submit(command="sleep 1"),
        world.call.submit(timeout_seconds=301),
        world.call.submit(command="sleep 1", pool="mine"),
        world.call.submit(timeout_seconds=300),
    ]
    pools = [world.ledger.job("default", UUID(each)).pool for each in ids]
    assert pools == ["tasks", "tasks", "mine", "default"]


def test_only_what_is_due_soon_is_told_to_the_queue(world: World) -> None:
    world.call.submit(schedule_time=(NOON + timedelta(minutes=4)).isoformat())
    world.call.submit(schedule_time=(NOON + timedelta(hours=1)).isoformat())
    assert [due.due_at for due in world.hinted] == [NOON + timedelta(minutes=4)]


def test_what_loading_may_have_passed_by_its_own_clock_is_told_as_well(world: World) -> None:
    fire = NOON + HORIZON + timedelta(seconds=1)
    world.call.submit(schedule_time=fire.isoformat())
    assert [due.due_at for due in world.hinted] == [fire]


def test_a_queue_that_is_away_costs_no_submission(world: World) -> None:
    def away(_: Sequence[Due]) -> None:
        raise LamplighterError("the queue is away")

    world.desk = msgspec.structs.replace(world.desk, hint=away)
    world.call.submit()


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({"type": "htpp"}, "target.type"),
        ({"type": "http", "url": 7}, "target.url"),
        ({"type": "http"}, "target"),
        ({"type": "python", "handler": "builtin.echo", "colour": "red"}, "target"),
    ],
)
def test_a_target_is_checked_before_anything_is_written(
    world: World, target: dict[str, object], field: str
) -> None:
    refused = world.call("POST", "/jobs", {"name": "x", "target": target})
    assert (refused.status, refused.error["field"]) == (422, field)
    job_id = world.call.submit()
    assert world.call("PUT", f"/jobs/{job_id}", {"target": target}).status == 422
    assert len(world.call("GET", "/jobs").body["jobs"]) == 1


def test_credentials_in_a_target_are_not_shown(world: World) -> None:
    headers = {"Authorization": "Bearer hunter2", "Accept": "text/plain"}
    target = {"type": "http", "url": "https://example.com", "headers": headers}
    job_id = world.call.submit(target=target)
    shown = world.call("GET", f"/jobs/{job_id}").body["target"]
    assert shown["headers"] == {"Authorization": "…", "Accept": "text/plain"}
    renamed = world.call("PUT", f"/jobs/{job_id}", {"name": "y"}).body["target"]
    assert renamed == shown
    assert world.ledger.job("default", UUID(job_id)).target == target


def test_the_same_key_and_body_make_one_job(world: World) -> None:
    body = {"name": "x", "payload": {"a": 1, "b": 2}}
    again = '{"payload":{"b":2,"a":1},  "name":"x"}'

    first = world.call("POST", "/jobs", body, headers=_key("k"))
    second = world.call("POST", "/jobs", again, headers=_key("k"))

    assert first.body == second.body == {"job_id": str(derived_job_id("default", "k"))}
    assert (first.status, second.status) == (201, 201)
    assert second.headers["idempotency-replayed"] == "true"
    assert "idempotency-replayed" not in first.headers
    # The queue is told twice of one run: the first time may never have come to that.
    assert len({due.run_id for due in world.hinted}) == 1


def test_the_same_key_with_another_body_is_a_conflict(world: World) -> None:
    world.call("POST", "/jobs", {"name": "x"}, headers=_key("k"))
    refused = world.call("POST", "/jobs", {"name": "y"}, headers=_key("k"))
    assert (refused.status, refused.error["code"]) == (409, "idempotency_conflict")
    assert world.call("POST", "/jobs", {"name": "y"}, headers=_key("k"), tenant="b").status == 201


_ONE = ("/jobs", {"name": "x"})
_ITEMS = ("/jobs", {"name": "x", "items": [1, 2]})
_BATCH = ("/jobs/batch", {"jobs": [{"name": "x"}, {"name": "y"}]})
_GRAPH = ("/workflows", {"jobs": [{"name": "x"}, {"name": "y"}]})
_OTHER_GRAPH = ("/workflows", {"jobs": [{"name": "p"}, {"name": "q", "after": ["p"]}]})


@pytest.mark.parametrize(
    ("first", "second"),
    list(permutations([_ONE, _ITEMS, _BATCH, _GRAPH, _OTHER_GRAPH], 2)),
)
def test_a_key_is_used_up_whatever_the_other_body_makes(
    world: World, first: tuple[str, Any], second: tuple[str, Any]
) -> None:
    made = world.call("POST", *first, headers=_key("k"))
    before = len(world.call("GET", "/jobs").body["jobs"])

    again = world.call("POST", *first, headers=_key("k"))
    refused = world.call("POST", *second, headers=_key("k"))

    assert (again.status, again.body) == (201, made.body)
    assert (refused.status, refused.error["code"]) == (409, "idempotency_conflict")
    assert len(world.call("GET", "/jobs").body["jobs"]) == before


def test_a_retry_that_comes_after_the_jobs_time_is_still_a_retry(world: World) -> None:
    body = {"name": "x", "schedule_time": "2030-01-01T12:01:00Z"}
    first = world.call("POST", "/jobs", body, headers=_key("k"))
    world.wind(hours=1)

    second = world.call("POST", "/jobs", body, headers=_key("k"))
    other = world.call("POST", "/jobs", {**body, "name": "y"}, headers=_key("k"))
    fresh = world.call("POST", "/jobs", body, headers=_key("new"))

    assert (second.status, second.body) == (201, first.body)
    assert other.status == 409
    assert fresh.status == 422


@pytest.mark.parametrize("key", ["", " ", "a\tb", "x" * 256])
def test_a_key_must_be_a_key(world: World, key: str) -> None:
    refused = world.call("POST", "/jobs", {"name": "x"}, headers=_key(key))
    assert (refused.status, refused.error["field"]) == (422, "Idempotency-Key")


def test_a_batch_is_all_or_nothing_and_keeps_its_order(world: World) -> None:
    jobs = [{"name": f"job {n}"} for n in range(20)]

    made = world.call("POST", "/jobs/batch", {"jobs": jobs}, headers=_key("b"))
    again = world.call("POST", "/jobs/batch", {"jobs": jobs}, headers=_key("b"))
    fewer = world.call("POST", "/jobs/batch", {"jobs": jobs[:-1]}, headers=_key("b"))

    assert (made.status, fewer.status) == (201, 409)
    assert again.body == made.body
    names = [world.call("GET", f"/jobs/{each}").body["name"] for each in made.body["job_ids"]]
    assert names == [job["name"] for job in jobs]


def test_jobs_of_a_batch_that_are_nearly_alike_stay_what_they_are(world: World) -> None:
    cron = {"cron_expression": "0 0 * * *", "tags": ["nightly"]}
    jobs: list[dict[str, object]] = [
        {"name": "first", "payload": {"n": 1}, **cron},
        {"name": "second", "payload": {"n": 2}, **cron},
        {"name": "without", **cron},
        {"name": "null", "payload": None, **cron},
        {"name": "urgent", "payload": {"n": 1}, **cron, "priority": 1},
    ]
    made = world.call("POST", "/jobs/batch", jobs).body["job_ids"]

    kept = [world.ledger.job("default", UUID(each)) for each in made]
    assert [str(job.job_id) for job in kept] == made
    assert [(job.name, job.payload, job.priority) for job in kept] == [
        ("first", {"n": 1}, 5),
        ("second", {"n": 2}, 5),
        ("without", None, 5),
        ("null", None, 5),
        ("urgent", {"n": 1}, 1),
    ]
    assert {(job.schedule, job.tags) for job in kept} == {(kept[0].schedule, ("nightly",))}


@pytest.mark.parametrize(
    ("other", "field"),
    [({}, "name"), ({"name": " "}, "name"), ({"name": "x", "payload": "\0"}, "payload")],
)
def test_what_is_wrong_with_the_second_of_two_alike_is_said_of_the_second(
    world: World, other: dict[str, object], field: str
) -> None:
    refused = world.call("POST", "/jobs/batch", [{"name": "x"}, other])
    assert (refused.status, refused.error["field"]) == (422, f"jobs[1].{field}")


def test_a_batch_has_a_limit(world: World) -> None:
    refused = world.call("POST", "/jobs/batch", [{"name": "x"}] * 10_001)
    assert (refused.status, refused.error["field"]) == (422, "jobs")
    assert world.call("POST", "/jobs/batch", []).status == 422


def test_items_become_jobs_of_one_group(world: World) -> None:
    body = {"name": "transcode", "items": ["240p", "480p", "720p", "1080p"], "ordering_key": "v"}

    made = world.call("POST", "/jobs", body, headers=_key("i"))

    jobs = [world.ledger.job("default", UUID(each)) for each in made.body["job_ids"]]
    assert [job.payload for job in jobs] == body["items"]
    assert {job.policy.metadata["group_id"] for job in jobs} == {made.body["group_id"]}
    assert [job.policy.metadata["group_index"] for job in jobs] == [0, 1, 2, 3]
    assert {job.ordering_key for job in jobs} == {"v"}
    assert world.call("POST", "/jobs", body, headers=_key("i")).body == made.body


def test_a_bad_item_is_named(world: World) -> None:
    refused = world.call("POST", "/jobs", {"name": "x", "items": [1, "\0"]})
    assert refused.error["field"] == "items[1].payload"
