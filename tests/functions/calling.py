"""A client that speaks to the handlers as API Gateway does: whole events in, whole answers out."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from functions.query import handler as query
from functions.submit import handler as submit
from lamplighter.contracts.http_api import Api
from lamplighter.stages.desk import Desk

EVENTS = Path(__file__).parents[2] / "events"
APIS: tuple[Api[Desk], ...] = (submit.api, query.api)


class Answer(msgspec.Struct, frozen=True):
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = self.body["error"]
        return error


def recorded(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))
    return event


def read(answer: Mapping[str, Any]) -> Answer:
    assert set(answer) == {"statusCode", "headers", "body", "isBase64Encoded"}
    is_json = answer["headers"]["content-type"] == "application/json"
    text = answer["body"]
    body = json.loads(text) if is_json and text else text
    return Answer(answer["statusCode"], body, answer["headers"])


class Client:
    """Sends what it is given; a body that is no text goes as JSON."""

    def __init__(self, desk: Callable[[], Desk]) -> None:
        self._desk = desk

    def send(self, event: dict[str, Any]) -> Answer:
        """To the function that has a route for it, as the gateway would."""
        method, path = event["requestContext"]["http"]["method"], event["rawPath"]
        found = [api for api in APIS if _has_route(api, method, path)]
        return read((found or APIS)[0].answer(event, self._desk))

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        tenant: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        event = recorded("submit")
        event |= {"rawPath": path, "headers": {"content-type": "application/json"}}
        event["headers"] |= {name.lower(): value for name, value in (headers or {}).items()}
        event["requestContext"]["http"] |= {"method": method, "path": path}
        event["body"] = body if body is None or isinstance(body, str) else json.dumps(body)
        if query:
            event["queryStringParameters"] = query
        if tenant:
            event["requestContext"]["authorizer"] = {"lambda": {"tenant": tenant}}
        return self.send(event)

    def submit(self, **fields: Any) -> str:
        """A job that must be accepted; its id."""
        answer = self("POST", "/jobs", {"name": "a job", **fields})
        assert answer.status == 201, answer.body
        job_id: str = answer.body["job_id"]
        return job_id


def _has_route(api: Api[Desk], method: str, path: str) -> bool:
    return any(each.method == method and each.pattern.match(path) for each in api.routes)
