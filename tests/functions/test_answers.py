"""The handlers themselves: events as AWS sends them, routes, tenants, outages, log lines."""

import inspect
import json
import logging
from types import ModuleType
from typing import Any

import msgspec
import pytest

from functions.query import handler as query
from functions.submit import handler as submit
from lamplighter import wiring
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.telemetry.logs import JsonLines
from tests.functions.calling import APIS, Client, read, recorded
from tests.functions.world import World


class _Absent:
    """A ledger that is out of reach, whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise LedgerUnavailable("connection to 10.0.0.7 refused for user lamplighter:hunter2")

        return fail


class _Broken:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("password=hunter2")


@pytest.mark.parametrize("module", [submit, query])
def test_a_handler_is_short(module: ModuleType) -> None:
    assert len(inspect.getsource(module).splitlines()) < 60


@pytest.mark.parametrize(
    ("name", "status"),
    [("submit", 201), ("submit_base64", 201), ("submit_authorized", 201),
     ("submit_jwt", 201), ("submit_iam", 201),
     ("query", 200), ("query_preview", 200)],
)  # fmt: skip
def test_a_recorded_event_is_answered(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, status: int
) -> None:
    monkeypatch.setattr(wiring, "desk", lambda: world.desk)
    handler = submit.handler if name.startswith("submit") else query.handler
    assert read(handler(recorded(name), None)).status == status


def test_a_base64_body_is_unpacked(call: Client) -> None:
    job_id = call.send(recorded("submit_base64")).body["job_id"]
    assert call("GET", f"/jobs/{job_id}").body["name"] == "Grüße"


def test_a_tenant_sees_its_own_jobs_only(call: Client) -> None:
    job_id = call.send(recorded("submit_authorized")).body["job_id"]

    assert call("GET", f"/jobs/{job_id}", tenant="acme").status == 200
    assert call("GET", f"/jobs/{job_id}", tenant="umbrella").status == 404
    assert call("GET", f"/jobs/{job_id}").status == 404
    assert call("DELETE", f"/jobs/{job_id}").status == 404
    assert call("PUT", f"/jobs/{job_id}", {"name": "mine"}).status == 404
    assert call("POST", f"/jobs/{job_id}/runNow", tenant="umbrella").status == 404
    assert call("GET", "/jobs", tenant="umbrella").body["jobs"] == []
    assert len(call("GET", "/jobs", tenant="acme").body["jobs"]) == 1


def test_a_tokens_claim_names_the_tenant_as_the_settings_say(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "desk", lambda: world.desk)
    monkeypatch.setenv("LAMPLIGHTER_JWT_TENANT_CLAIM", "sub")
    wiring.forget()

    job_id = read(submit.handler(recorded("submit_jwt"), None)).body["job_id"]

    wiring.forget()
    assert world.call("GET", f"/jobs/{job_id}", tenant="robot").status == 200
    assert world.call("GET", f"/jobs/{job_id}", tenant="acme").status == 404


def test_a_token_without_a_tenant_is_refused_unless_the_settings_name_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "desk", lambda: world.desk)
    monkeypatch.setenv("LAMPLIGHTER_JWT_TENANT_CLAIM", "org")
    wiring.forget()
    refused = read(submit.handler(recorded("submit_jwt"), None))
    monkeypatch.setenv("LAMPLIGHTER_JWT_DEFAULT_TENANT", "shared")
    wiring.forget()

    accepted = read(submit.handler(recorded("submit_jwt"), None))

    wiring.forget()
    assert (refused.status, refused.error["code"]) == (403, "no_tenant")
    assert world.call("GET", f"/jobs/{accepted.body['job_id']}", tenant="shared").status == 200


def test_a_reader_only_looks(world: World) -> None:
    event = recorded("submit_authorized")
    asked = recorded("query") | {"rawPath": "/jobs"}
    for each in (event, asked):
        each["requestContext"]["authorizer"] = {"lambda": {"tenant": "acme", "role": "reader"}}

    refused = world.call.send(event)

    assert (refused.status, refused.error["code"]) == (403, "role_too_low")
    assert world.call.send(asked).body["jobs"] == []


def test_an_unknown_path_and_a_wrong_method_are_told_apart(call: Client) -> None:
    assert call("GET", "/nowhere").status == 404
    refused = call("PATCH", "/jobs")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("path", ["/jobs\n", "/jobs/\n", "/healthz\n"])
def test_a_path_that_goes_on_after_a_line_break_is_another(call: Client, path: str) -> None:
    """A page leads on by its own path, and no header can hold that one."""
    call.submit()
    assert call("GET", path, query={"limit": "1"}).status == 404


def test_an_absent_ledger_is_a_503_that_says_when_to_come_back(world: World) -> None:
    world.desk = msgspec.structs.replace(world.desk, ledger=_Absent())
    for method, path in (("POST", "/jobs"), ("GET", "/jobs"), ("GET", "/runs")):
        refused = world.call(method, path, {"name": "x"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        assert "hunter2" not in str(refused.body)
    assert world.call("GET", "/readyz").status == 503
    assert world.call("GET", "/healthz").status == 200


def test_what_breaks_us_is_told_to_the_log_only(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.desk = msgspec.structs.replace(world.desk, ledger=_Broken())

    refused = world.call("GET", "/jobs")

    assert (refused.status, refused.error["code"]) == (500, "internal_error")
    assert "hunter2" not in str(refused.body)
    assert "JKJaXmPLvHcESHA=" in refused.error["message"]
    assert "hunter2" in caplog.text


def test_settings_that_are_missing_are_not_the_clients_business(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LAMPLIGHTER_DATABASE_URL", raising=False)
    refused = Client(wiring.desk)("GET", "/jobs")
    assert refused.status == 500
    assert "DATABASE_URL" not in str(refused.body)


def test_every_request_leaves_one_line(call: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="lamplighter.http"):
        job_id = call.submit()
        call("GET", f"/jobs/{job_id}/fires", query={"count": "x"})

    told = [record for record in caplog.records if record.name == "lamplighter.http"]
    lines = [json.loads(JsonLines().format(record)) for record in told]
    assert [line["route"] for line in lines] == ["POST /jobs", "GET /jobs/{job_id}/fires"]
    assert [line["status"] for line in lines] == [201, 422]
    assert lines[1]["code"] == "invalid_parameter"
    assert lines[0]["gateway_request_id"] == "JKJaXmPLvHcESHA="
    assert lines[0]["ms"] >= 0


def test_no_two_functions_answer_to_the_same_route() -> None:
    names = [route.name for api in APIS for route in api.routes]
    assert len(set(names)) == len(names)


def test_importing_a_handler_reaches_for_no_driver() -> None:
    """A cold start pays for what it imports; the driver is imported by who needs it."""
    import subprocess
    import sys
    from pathlib import Path

    root = Path(__file__).parents[2]
    code = (
        "import sys, functions.submit.handler, functions.query.handler;"
        "print(*({'psycopg', 'boto3', 'aws_lambda_powertools', 'confluent_kafka'}"
        " & set(sys.modules)))"
    )
    environment = {"PYTHONPATH": f"{root}:{root / 'layers/core/python'}"}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""
