"""`events/`: as AWS writes them, and taken by the functions as AWS runs them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from infra.aws import assets
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from tests.runtime import sam
from tests.runtime.cell import EVENTS, recorded
from tests.runtime.conftest import Running, Start
from tests.runtime.shape import Sample, differences

# One set of functions, whoever runs the tests.
pytestmark = pytest.mark.xdist_group("runtime-events")

NAMES: Final = sorted(path.stem for path in EVENTS.glob("*.json"))

HTTP: Final = Sample(
    "apigateway/HttpApi",
    optional={
        "body",
        "cookies",
        "pathParameters",
        "queryStringParameters",
        "requestContext.authentication",
        "requestContext.authorizer",
        "stageVariables",
    },
    open={"headers", "queryStringParameters", "requestContext.authorizer"},
)
SCHEDULED: Final = Sample("cloudwatch/ScheduledEvent", extra={"version"}, open={"detail"})
SQS: Final = Sample(
    "sqs/Sqs", extra={"Records.md5OfMessageAttributes"}, open={"Records.messageAttributes"}
)
RESOURCE: Final = Sample(
    "cloudformation/CfnCreateRequest",
    extra={"ServiceToken", "PhysicalResourceId", "OldResourceProperties"},
    open={"ResourceProperties", "OldResourceProperties"},
)
# Of these `sam local generate-event` has none: what AWS's pages show, key by key.
KAFKA: Final = {"eventSource", "eventSourceArn", "bootstrapServers", "records"}
KAFKA_RECORD: Final = {
    "topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers",
}  # fmt: skip
AUTHORIZER: Final = {
    "version", "type", "routeArn", "identitySource", "routeKey", "rawPath", "rawQueryString",
    "headers", "requestContext",
}  # fmt: skip


def function_of(name: str) -> str:
    return name.partition("_")[0]


def sample_of(event: dict[str, Any]) -> Sample | None:
    if "detail-type" in event:
        return SCHEDULED
    if "RequestType" in event:
        return RESOURCE
    if "Records" in event:
        return SQS
    return HTTP if "rawPath" in event and "type" not in event else None


def test_every_function_has_an_event_and_every_event_a_function() -> None:
    assert {function_of(name) for name in NAMES} == set(assets.function_names())


COMPARED: Final = [name for name in NAMES if sample_of(recorded(name))]


@pytest.mark.parametrize("name", COMPARED)
def test_an_event_has_the_shape_that_sam_generates(name: str) -> None:
    event = recorded(name)
    sample = sample_of(event)
    assert sample
    try:
        generated = sam.sample_event(sample.name)
    except sam.NoWheel as absent:
        if sam.is_ci():
            raise
        pytest.skip(str(absent))

    assert differences(event, generated, sample) == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(COMPARED)))
def test_an_event_that_sam_cannot_generate_has_the_keys_of_awss_pages(name: str) -> None:
    event = recorded(name)

    if function_of(name) == "authorizer":
        assert set(event) == AUTHORIZER
    elif function_of(name) != "courier":  # called by us alone
        assert set(event) == KAFKA
        assert event["eventSource"] == "aws:kafka"
        for place, records in event["records"].items():
            assert all(set(each) == KAFKA_RECORD for each in records)
            assert {f"{each['topic']}-{each['partition']}" for each in records} == {place}


class Functions:
    """Each started once, in a cell of their own."""

    def __init__(self, start: Start, settings: dict[str, str]) -> None:
        self._start = start
        self._settings = settings
        self._started: dict[str, Running] = {}

    def __getitem__(self, name: str) -> Running:
        if name not in self._started:
            self._started[name] = self._start(name, self._settings)
        return self._started[name]


@contextmanager
def secrets_manager(secret: dict[str, str]) -> Iterator[str]:
    """Its endpoint; it has one secret, whatever it is asked for."""

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = json.dumps({"SecretString": json.dumps(secret)}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def functions(
    postgres_server: Postgres,
    valkey_server: Valkey,
    start: Start,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Functions]:
    database = postgres_server.ensure_database(f"e{uuid4().hex}")
    admin = urlsplit(database)
    login = {"username": admin.username or "", "password": admin.password or ""}
    with secrets_manager(login) as endpoint:
        settings = {
            "LAMPLIGHTER_DATABASE_URL": database,
            "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
            "LAMPLIGHTER_CELL": f"c{uuid4().hex[:12]}",
            "LAMPLIGHTER_WATCH_SECONDS": "1",
            "LAMPLIGHTER_DATA_DIR": str(tmp_path_factory.mktemp("data")),
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": endpoint,
        }
        functions = Functions(start, settings)
        asked = recorded("migrate_create")
        # Not what our stack sends; whoever has another says so, and a secret's name with it.
        asked["ResourceProperties"]["AdminSecret"] = "lamplighter/admin"
        functions["migrate"].invoke(asked)
        yield functions


@pytest.mark.parametrize("name", NAMES)
def test_an_event_is_taken_by_its_function(functions: Functions, name: str) -> None:
    event = recorded(name)

    answer = functions[function_of(name)].invoke(event)

    match function_of(name):
        case "submit" | "query":
            assert 200 <= answer["statusCode"] < 300, answer
        case "executor" | "recorder" | "resolver":
            assert answer == {"batchItemFailures": []}
        case "watcher":
            assert answer["seconds_led"] > 0
        case "authorizer":
            # No such key was made here; an answer without this word would be a 500.
            assert answer["isAuthorized"] is False
        case "migrate":
            assert answer["PhysicalResourceId"]
        case "courier":
            assert len(answer["replies"]) == len(event["requests"])
