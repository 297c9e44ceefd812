"""Whatever arrives: one shape of answer, which names field and fix, and nothing else happens."""

import base64
import json
from typing import Any

import pytest

from lamplighter.contracts.http_errors import STATUS_OF
from tests.functions.calling import Client, recorded
from tests.functions.world import World

JOB = {"name": "a job"}


def _nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("body", "status", "field", "words"),
    [
        ("{", 400, None, "not JSON"),
        ('{"name": "x"} {}', 400, None, "not JSON"),
        ('{"name": "x", "payload": NaN}', 400, None, "not JSON"),
        ('{"name": "x", "payload": Infinity}', 400, None, "not JSON"),
        ('{"name": "x", "payload": "\\ud800"}', 400, None, "not JSON"),
        ("", 400, None, "empty"),
        ("   ", 400, None, "empty"),
        ("[]", 422, "body", "object"),
        ("null", 422, "body", "object"),
        ("{}", 422, "name", "give the job a name"),
        ('{"name": null}', 422, "name", "give the job a name"),
        ('{"name": 7}', 422, "name", "give text"),
        ('{"name": " "}', 422, "name", "blank"),
        ('{"name": "a\\u0000b"}', 422, "name", "control character"),
        ('{"name": "a\\u001b[31mb"}', 422, "name", "control character"),
        (json.dumps({"name": "x" * 201}), 422, "name", "200 at most"),
        ('{"name": "x", "prioritty": 1}', 422, "prioritty", "no such field"),
        ('{"name": "x", "priority": 0}', 422, "priority", "give a whole number from 1 to 10"),
        ('{"name": "x", "priority": 1e999}', 422, "priority", "out of range"),
        ('{"name": "x", "priority": "1"}', 422, "priority", "a whole number"),
        ('{"name": "x", "priority": true}', 422, "priority", "a whole number"),
        ('{"name": "x", "max_retries": -1}', 422, "max_retries", "from 0 to 1,000"),
        ('{"name": "x", "interval_seconds": 1e308}', 422, "interval_seconds", "not allowed"),
        ('{"name": "x", "timeout_seconds": 9999999999999999999}', 422, "timeout_seconds", "to 2,"),
        ('{"name": "x", "overlap": "maybe"}', 422, "overlap", "no choice 'maybe'"),
        ('{"name": "x", "dst": {"gap": "jump"}}', 422, "dst.gap", "no choice 'jump'"),
        ('{"name": "x", "schedule_type": "CRON"}', 422, "cron_expression", "needs it"),
        ('{"name": "x", "cron_expression": "0 0 30 2 *"}', 422, "cron_expression", "never fires"),
        ('{"name": "x", "cron_expression": "* * * * *\\u0000"}', 422, "cron_expression", "control"),
        ('{"name": "x", "schedule_time": "tomorrow"}', 422, "schedule_time", "RFC 3339 time"),
        ('{"name": "x", "schedule_time": "2031-01-01T00:00:00"}', 422, "schedule_time", "offset"),
        ('{"name": "x", "schedule_time": "2029-01-01T00:00:00Z"}', 422, "schedule_time", "passed"),
        ('{"name": "x", "expires_at": "2029-01-01T00:00:00Z"}', 422, "expires_at", "passed"),
        ('{"name": "x", "expires_at": "0001-01-01T00:00:00+14:00"}', 422, "expires_at", "year"),
        ('{"name": "x", "schedule_time": "9999-12-31T23:59:59Z"}', 422, "schedule_time", "year"),
        ('{"name": "x", "timezone": "Mars/Base"}', 422, "timezone", "no time zone"),
        ('{"name": "x", "after": ["nobody"]}', 422, "after[0]", "not a job id"),
        ('{"name": "x", "schedule_type": "AFTER"}', 422, "after", "at least one"),
        ('{"name": "x", "concurrency_key": "k"}', 422, "max_concurrency", "needs its limit"),
        ('{"name": "x", "command": "a", "target": {"type": "b"}}', 422, "command", "not both"),
        ('{"name": "x", "pool": "a b"}', 422, "pool", "letters"),
        ('{"name": "x", "fan_out": ["a", "a"]}', 422, "fan_out", "once"),
        ('{"name": "x", "target": "echo"}', 422, "target", "type"),
        ('{"name": "x", "metadata": [1]}', 422, "metadata", "object"),
        ('{"name": "x", "tags": ["a\\u001fb"]}', 422, "tags[0]", "control"),
        ('{"name": "x", "payload": {"a": "b\\u0000"}}', 422, "payload", "PostgreSQL"),
        ('{"name": "x", "payload": {"\\u0000": 1}}', 422, "payload", "PostgreSQL"),
        (f'{{"name": "x", "payload": {_nested(100)}}}', 422, "payload", "levels deep"),
        (f'{{"name": "x", "payload": {_nested(100_000)}}}', 400, None, "too deeply"),
        (f'{{"name": "x", "unknown": {_nested(100)}}}', 422, "unknown", "no such field"),
        ('{"name": "x", "backoff": {"factor": 0.5}}', 422, "backoff.factor", "give 1"),
        ('{"name": "x", "calendar": "holidays"}', 422, "calendar", "no calendar"),
        ('{"name": "x", "items": []}', 422, "items", "give 1 to"),
        ('{"name": "x", "items": [1], "payload": 2}', 422, "payload", "leave it out"),
    ],
)  # fmt: skip
def test_a_bad_body_is_refused_in_one_shape(
    world: World, body: str, status: int, field: str | None, words: str
) -> None:
    refused = world.call("POST", "/jobs", body)

    assert (refused.status, refused.error["field"]) == (status, field), refused.body
    assert words in refused.error["message"]
    assert set(refused.error) <= {"code", "message", "field", "hint"}
    assert world.call("GET", "/jobs").body["jobs"] == []
    assert world.hinted == []


def test_what_is_no_json_is_said_once(call: Client) -> None:
    message = call("POST", "/jobs", '{"name": NaN}').error["message"]
    assert message == "The body is not JSON: invalid character (byte 9)."


def test_an_unknown_field_suggests_the_nearest(call: Client) -> None:
    hint = call("POST", "/jobs", {**JOB, "cron_expresion": "* * * * *"}).error["hint"]
    assert hint == "Did you mean cron_expression?"


def test_a_wrong_word_is_answered_with_the_right_ones(call: Client) -> None:
    hint = call("POST", "/jobs", {**JOB, "overlap": "skip"}).error["hint"]
    assert hint == "Choose one of: allow, forbid, queue, replace."


def test_in_a_batch_the_job_is_named(call: Client) -> None:
    refused = call("POST", "/jobs/batch", {"jobs": [JOB, {**JOB, "priority": 11}]})
    assert refused.error["field"] == "jobs[1].priority"

    refused = call("POST", "/jobs/batch", [JOB, {**JOB, "timezone": "Mars"}])
    assert refused.error["field"] == "jobs[1].timezone"
    assert call("GET", "/jobs").body["jobs"] == []


@pytest.mark.parametrize("given", ["soon", "2031-01-01T00:00:00", "0001-01-01T00:00:00Z"])
def test_a_moment_that_is_asked_for_is_a_parameter(call: Client, given: str) -> None:
    job_id = call.submit()
    for path, name in (("/runs", "since"), ("/runs", "until"), (f"/jobs/{job_id}/fires", "after")):
        refused = call("GET", path, query={name: given})
        said = (refused.status, refused.error["code"], refused.error["field"])
        assert said == (422, "invalid_parameter", name)


def test_ten_megabytes_are_too_many(call: Client) -> None:
    refused = call("POST", "/jobs", json.dumps({**JOB, "payload": "x" * 10_000_000}))
    assert (refused.status, refused.error["code"]) == (413, "body_too_large")


def test_ten_megabytes_in_base64_are_too_many_too(call: Client) -> None:
    event = recorded("submit_base64")
    event["body"] = base64.b64encode(b" " * 10_000_000).decode()
    assert call.send(event).status == 413


def test_a_payload_has_its_own_limit(call: Client) -> None:
    refused = call("POST", "/jobs", {**JOB, "payload": "x" * 300_000})
    assert (refused.status, refused.error["field"]) == (422, "payload")


def test_what_is_not_base64_is_refused(call: Client) -> None:
    event = recorded("submit_base64")
    event["body"] = "{not base64}"
    assert call.send(event).status == 400


def test_what_is_not_utf_8_is_refused(call: Client) -> None:
    event = recorded("submit_base64")
    event["body"] = base64.b64encode(b'{"name": "\xff"}').decode()
    assert call.send(event).status == 400
    event["body"] = base64.b64encode(b'{"name": "x", "payload": "\xff"}').decode()
    assert call.send(event).status == 422


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_does_not_say_it_is_json_is_refused(call: Client, kind: str) -> None:
    """A web page can make a browser send these unasked; JSON it cannot."""
    refused = call("POST", "/jobs", JOB, headers={"Content-Type": kind})
    assert (refused.status, refused.error["code"]) == (415, "not_json")


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/vnd.x+json"])
def test_json_may_say_more(call: Client, kind: str) -> None:
    assert call("POST", "/jobs", JOB, headers={"Content-Type": kind}).status == 201


def test_a_missing_body_is_refused(call: Client) -> None:
    assert call("POST", "/jobs").status == 400
    assert call("POST", "/jobs/batch").status == 400


def test_of_a_field_that_comes_twice_the_last_counts(call: Client) -> None:
    """As in every JSON reader of the field; docs/api.md says so."""
    answer = call("POST", "/jobs", '{"name": "one", "name": "two"}')
    assert call("GET", f"/jobs/{answer.body['job_id']}").body["name"] == "two"


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE jobs; --", "<script>alert(1)</script>", "%s %(x)s {0}", "日本語 🏮"]
)
def test_a_name_is_only_a_name(call: Client, name: str) -> None:
    job_id = call.submit(name=name)
    assert call("GET", f"/jobs/{job_id}").body["name"] == name
    assert call("GET", "/jobs", query={"name": name}).body["jobs"][0]["job_id"] == job_id
    assert repr(name) in call("GET", f"/jobs/{job_id}/explain").body["explanation"]


def test_large_whole_numbers_come_back_as_they_were(call: Client) -> None:
    job_id = call.submit(payload={"n": 2**70, "f": 1.5e300})
    assert call("GET", f"/jobs/{job_id}").body["payload"] == {"n": 2**70, "f": 1.5e300}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/jobs/nonsense"),
        ("PUT", "/jobs/nonsense"),
        ("DELETE", "/jobs/1'%20OR%20'1'='1"),
        ("POST", "/jobs/nonsense/runNow"),
        ("GET", "/jobs/6f1e2a7c-0000-4000-8000-000000000000"),
        ("GET", "/jobs/6f1e2a7c-0000-4000-8000-000000000000/runs"),
        ("DELETE", "/jobs/6f1e2a7c-0000-4000-8000-000000000000"),
    ],
)
def test_an_id_that_nobody_has_is_not_found(call: Client, method: str, path: str) -> None:
    refused = call(method, path, {} if method in {"PUT", "POST"} else None)
    assert (refused.status, refused.error["code"]) == (404, "job_not_found")


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/jobs", {"limit": "0"}, "limit"),
        ("/jobs", {"limit": "501"}, "limit"),
        ("/jobs", {"limit": "ten"}, "limit"),
        ("/jobs", {"cursor": "x"}, "cursor"),
        ("/jobs", {"status": "RUNNING"}, "status"),
        ("/jobs", {"stauts": "PAUSED"}, "stauts"),
        ("/runs", {"status": "PAUSED"}, "status"),
        ("/runs", {"since": "yesterday"}, "since"),
        ("/runs", {"since": "2030-01-01T00:00:00"}, "since"),
        ("/runs", {"job_id": "x"}, "job_id"),
        ("/jobs", {"name": "\0"}, "name"),
        ("/stats", {"minutes": "0"}, "minutes"),
        ("/workers", {"limit": "x"}, "limit"),
    ],
)
def test_a_bad_parameter_is_refused(
    call: Client, path: str, query: dict[str, str], field: str
) -> None:
    refused = call("GET", path, query=query)
    assert (refused.status, refused.error["field"]) == (422, field)


@pytest.mark.parametrize("event", [{}, {"rawPath": "/jobs"}, {"requestContext": None}])
def test_what_is_no_event_is_answered_all_the_same(call: Client, event: dict[str, Any]) -> None:
    from functions.submit.handler import handler

    assert handler(event, None)["statusCode"] == 500


def test_every_status_of_the_table_is_a_refusal() -> None:
    assert all(status >= 400 for status in STATUS_OF.values())
