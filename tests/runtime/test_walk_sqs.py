"""A job walks from zip to zip as in the profile `small`: over SQS, and thriftily."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from infra.local.invoker import scheduled_event
from infra.local.mapping import mapped
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from tests.runtime.cell import recorded, until
from tests.runtime.conftest import Running, Start
from tests.runtime.queues import deliver, sqs_endpoint

PREFIX = "small"
READERS = ("executor", "recorder")


class Walk:
    def __init__(self, start: Start, settings: dict[str, str], client: Any) -> None:
        names = ("migrate", "submit", "query", "watcher", *READERS)
        self.functions: dict[str, Running] = {name: start(name, settings) for name in names}
        self.delivered = dict.fromkeys(READERS, 0)
        self._client = client

    def ask(self, name: str, route: str, body: object = None) -> Any:
        method, path = route.split(" ")
        event = recorded(name) | {"routeKey": route, "rawPath": path, "body": json.dumps(body)}
        event |= {"rawQueryString": "", "queryStringParameters": {}}
        event["requestContext"]["http"] |= {"method": method, "path": path}
        answer = self.functions[name].invoke(event)
        assert 200 <= answer["statusCode"] < 300, answer
        return json.loads(answer["body"])

    def step(self) -> None:
        """EventBridge's call, and one round of the mappings."""
        self.functions["watcher"].invoke(scheduled_event(datetime.now(UTC)))
        for name in READERS:
            for topic in mapped(name, "default").topics:
                function = self.functions[name].invoke
                self.delivered[name] += deliver(self._client, PREFIX, topic, function)


@pytest.fixture
def walk(
    postgres_server: Postgres,
    valkey_server: Valkey,
    start: Start,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Walk]:
    with sqs_endpoint() as (endpoint, client):
        settings = {
            "LAMPLIGHTER_BUS": "sqs",
            "LAMPLIGHTER_SQS_PREFIX": PREFIX,
            "LAMPLIGHTER_THRIFTY": "true",
            "LAMPLIGHTER_DATABASE_URL": postgres_server.ensure_database(f"s{uuid4().hex}"),
            "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
            "LAMPLIGHTER_CELL": f"c{uuid4().hex[:12]}",
            "LAMPLIGHTER_WATCH_SECONDS": "1",
            "LAMPLIGHTER_DATA_DIR": str(tmp_path_factory.mktemp("data")),
            "AWS_ENDPOINT_URL_SQS": endpoint,
        }
        yield Walk(start, settings, client)


def test_a_job_meets_every_function_over_sqs(walk: Walk) -> None:
    walk.functions["migrate"].invoke(recorded("migrate_create"))
    job = walk.ask("submit", "POST /jobs", {"name": "a job", "payload": {"n": 7}})["job_id"]

    def has_succeeded() -> bool:
        walk.step()
        runs = walk.ask("query", f"GET /jobs/{job}/runs")
        return bool(runs) and runs[0]["status"] == "SUCCESS"

    until(has_succeeded)
    assert all(walk.delivered.values()), walk.delivered
