"""Bad input: a clear refusal, never a broken server, and the next job runs as if nothing had been.

On Streams alone: nothing of this reaches a bus.
"""

import contextlib
import http.client
import json
from typing import Any

import pytest

from tests.e2e.conftest import BUSES
from tests.e2e.stack import Answer, Stack

pytestmark = pytest.mark.parametrize("stack", BUSES[:1], indirect=True)

JSON = {"Content-Type": "application/json"}
DEEP = 100


def _send(
    stack: Stack,
    body: bytes,
    headers: dict[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/jobs",
) -> Answer:
    host = stack.state["url"].removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.putrequest(method, path)
        for name, value in {"Content-Length": str(len(body)), **(headers or JSON)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        # Refused by what the headers say, it is not read; the answer is there all the same.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.send(body)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def _job(**fields: Any) -> bytes:
    return json.dumps({"name": "a job", "schedule_type": "IMMEDIATE", **fields}).encode()


def _with(raw: str) -> bytes:
    """A job with this text in it, as a client in a hurry would write it."""
    return b'{"name": "a job", "schedule_type": "IMMEDIATE", ' + raw.encode() + b"}"


def _refused(answer: Answer, status: int, *words: str) -> None:
    assert answer.status == status, answer.text
    error = answer.body["error"]
    assert error["code"] != "internal_error"
    for word in words:
        assert word in answer.text


def _still_works(stack: Stack) -> None:
    [run] = stack.ended(stack.submit(payload={"still": "here"}))
    assert run["status"] == "SUCCESS"


MALFORMED = {
    "nothing": b"",
    "no JSON": b"{name: a job}",
    "cut off": _job()[:-1],
    "more behind it": _job() + b"{}",
    "a list": b"[1, 2]",
    "a word": b'"job"',
    "null": b"null",
    "NaN": _with('"payload": NaN'),
    "Infinity": _with('"payload": -Infinity'),
    "a comma too many": _with('"payload": [1,]'),
    "not UTF-8": b'{"name": "\xff\xfe", "schedule_type": "IMMEDIATE"}',
    "half a surrogate": _with(r'"payload": "\ud800"'),
    "a raw control character": b'{"name": "a\x01b", "schedule_type": "IMMEDIATE"}',
    "100 levels of lists": _with('"payload": ' + "[" * DEEP + "]" * DEEP),
    "100 levels of objects": _with('"payload": ' + '{"a":' * DEEP + "1" + "}" * DEEP),
    "100,000 levels": _with('"payload": ' + "[" * 100_000),
}


def test_what_cannot_be_read_is_refused(stack: Stack) -> None:
    answers = {what: _send(stack, body) for what, body in MALFORMED.items()}

    statuses = {what: answer.status for what, answer in answers.items()}
    assert set(statuses.values()) <= {400, 422}, statuses
    assert all(answer.body["error"]["message"] for answer in answers.values())
    _still_works(stack)


FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("prioritty", {"prioritty": 1}),
    ("priority", {"priority": "high"}),
    ("priority", {"priority": 11}),
    ("priority", {"priority": 10**30}),
    ("priority", {"priority": 1.5}),
    ("priority", {"priority": True}),
    ("name", {"name": 17}),
    ("name", {"name": ""}),
    ("name", {"name": "x" * 100_000}),
    ("name", {"name": "a\0b"}),
    ("payload", {"payload": {"a": "a\0b"}}),
    ("tags", {"tags": "one"}),
    ("target", {"target": "builtin.echo"}),
    ("target", {"target": {"type": "carrier_pigeon"}}),
    ("target", {"target": {"handler": "builtin.echo"}}),
    ("target", {"target": {"type": "http", "url": "gopher://example.com"}}),
    ("target", {"target": {"type": "command", "command": "echo a\0b"}}),
    ("timeout_seconds", {"timeout_seconds": -1}),
    ("timeout_seconds", {"timeout_seconds": 10**18}),
    ("max_retries", {"max_retries": -1}),
    ("schedule_type", {"schedule_type": "SOMETIMES"}),
    ("schedule_time", {"schedule_type": "FUTURE", "schedule_time": "tomorrow"}),
    ("schedule_time", {"schedule_type": "FUTURE", "schedule_time": "2001-01-01T00:00:00Z"}),
    ("cron_expression", {"schedule_type": "CRON", "cron_expression": "61 * * * *"}),
    ("cron_expression", {"schedule_type": "CRON", "cron_expression": "0 0 30 2 *"}),
    ("cron_expression", {"schedule_type": "CRON", "cron_expression": "*" * 100_000}),
    ("timezone", {"timezone": "Mars/Olympus", "cron_expression": "* * * * *",
                  "schedule_type": "CRON"}),
    ("interval_seconds", {"schedule_type": "INTERVAL", "interval_seconds": 10**30}),
    ("pool", {"pool": "../../etc"}),
    ("pool", {"pool": "x" * 1000}),
    ("after", {"after": ["nobody"]}),
    ("after", {"after": ["00000000-0000-0000-0000-000000000000"]}),
]  # fmt: skip


def test_what_is_wrong_is_named_with_its_field(stack: Stack) -> None:
    wrong: list[str] = []
    for field, fields in FIELDS:
        given = fields if field != "after" else {**fields, "schedule_type": None}
        answer = _send(stack, _job(**given))
        named = answer.body.get("error", {}).get("field") or ""
        if answer.status != 422 or not named.startswith(field):
            wrong.append(f"{field}: {str(fields)[:80]}: {answer.status} {answer.text[:200]}")

    assert wrong == []
    _still_works(stack)


def test_a_field_given_twice_counts_once_and_numbers_keep_their_size(stack: Stack) -> None:
    twice = _send(stack, _with('"payload": 1, "payload": 2'))
    large = _send(stack, _with('"payload": [1e308, 18446744073709551615]'))
    huge = _send(stack, _with(f'"payload": {10**400}'))

    [once, (many_digits, more), most] = [
        stack.ended(each.body["job_id"])[0]["result"] for each in (twice, large, huge)
    ]
    assert once == 2
    assert (float(many_digits), more, most) == (1e308, 18446744073709551615, 10**400)
    _still_works(stack)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(stack: Stack) -> None:
    ten_megabytes = _job(payload="x" * 10_000_000)

    declared = _send(stack, ten_megabytes)

    _refused(declared, 413, "bytes")
    _still_works(stack)


def test_a_pool_that_is_not_there_is_refused_with_those_that_are(stack: Stack) -> None:
    _refused(_send(stack, _job(pool="moon")), 422, "pool", "moon", "default", "tasks")
    _refused(_send(stack, _job(fan_out=["default", "moon"])), 422, "fan_out[1]", "tasks")
    job = stack.submit(schedule_type="CRON", cron_expression="0 0 1 1 *")
    _refused(stack.ask("PUT", f"/jobs/{job}", {"pool": "moon"}), 422, "pool", "default")
    _still_works(stack)


def test_a_batch_with_one_bad_job_is_refused_whole_and_says_which(stack: Stack) -> None:
    jobs = [{"name": "good"}, {"name": "bad", "priority": 11}]

    answer = stack.ask("POST", "/jobs/batch", {"jobs": jobs})

    _refused(answer, 422, "jobs[1].priority")
    assert stack.get("/jobs?name=good")["jobs"] == []
    _still_works(stack)


def test_another_method_kind_of_body_or_path_is_refused(stack: Stack) -> None:
    nowhere = "/jobs/00000000-0000-0000-0000-000000000000"

    _refused(stack.ask("PATCH", "/jobs"), 405)
    _refused(stack.ask("DELETE", "/healthz"), 405)
    _refused(_send(stack, _job(), {"Content-Type": "text/plain"}), 415, "application/json")
    _refused(_send(stack, b"name=job", {"Content-Type": "application/x-www-form-urlencoded"}), 415)
    _refused(_send(stack, _job(), {"X-Nothing": "said"}), 415)
    _refused(stack.ask("GET", "/job"), 404)
    _refused(stack.ask("GET", nowhere), 404)
    _refused(stack.ask("DELETE", nowhere), 404)
    _refused(stack.ask("GET", "/jobs/not-an-id"), 404)
    assert 400 <= stack.ask("GET", "/runs?limit=many").status < 500
    assert 400 <= stack.ask("GET", "/jobs?cursor=%00%ff").status < 500
    _refused(stack.ask("GET", "/jobs", headers={"X-Long": "x" * 70_000}), 431)
    _still_works(stack)
