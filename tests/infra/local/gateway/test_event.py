"""Events look like those of API Gateway that are kept in events/."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from infra.local.gateway.event import answer_of, event_of

EVENTS = Path(__file__).parents[4] / "events"


def _scope(**changes: Any) -> dict[str, Any]:
    return {
        "method": "POST",
        "path": "/jobs",
        "query_string": b"",
        "headers": [(b"host", b"localhost:8080"), (b"content-type", b"application/json")],
        "http_version": "1.1",
        "client": ("127.0.0.1", 5),
        **changes,
    }


def _shape(value: Any) -> Any:
    """Names and types, all the way down; what the headers are is the client's affair."""
    if isinstance(value, dict):
        return {name: _shape(each) for name, each in value.items() if name != "headers"}
    return type(value).__name__


@pytest.mark.parametrize(
    ("name", "scope", "body"),
    [
        ("submit", _scope(), b"{}"),
        ("query", _scope(method="GET", query_string=b"status=SCHEDULED&limit=10"), b""),
    ],
)
def test_an_event_has_the_shape_of_a_recorded_one(
    name: str, scope: dict[str, Any], body: bytes
) -> None:
    recorded = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))

    made = event_of(scope, body, "GET /jobs")

    assert _shape(made) == _shape(recorded)
    assert made.get("queryStringParameters") == recorded.get("queryStringParameters")


def test_what_comes_twice_is_joined_with_commas() -> None:
    headers = [(b"x", b"1"), (b"x", b"2"), (b"cookie", b"a=1; b=2")]

    event = event_of(_scope(headers=headers, query_string=b"t=a&t=b%20c&u="), b"", "GET /jobs")

    assert event["headers"] == {"x": "1,2"}
    assert event["cookies"] == ["a=1", "b=2"]
    assert event["queryStringParameters"] == {"t": "a,b c", "u": ""}
    assert event["rawQueryString"] == "t=a&t=b%20c&u="


def test_bytes_travel_as_base64_both_ways() -> None:
    event = event_of(_scope(), b"\xff\x00", "POST /jobs")
    assert event["isBase64Encoded"]
    assert base64.b64decode(event["body"]) == b"\xff\x00"

    answer = answer_of({"statusCode": 200, "body": event["body"], "isBase64Encoded": True})
    assert answer.body == b"\xff\x00"
    assert answer.headers == [(b"content-length", b"2")]


def test_cookies_are_set_and_no_other_page_is_let_in() -> None:
    answer = answer_of(
        {
            "statusCode": 204,
            "headers": {"Access-Control-Allow-Origin": "*", "ETag": '"1"'},
            "cookies": ["a=1", "b=2"],
        }
    )

    assert answer.headers == [
        (b"etag", b'"1"'),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"content-length", b"0"),
    ]
