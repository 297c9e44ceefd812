"""`keys` on a ledger, and by way of a function that reaches it."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.awsrequest import AWSResponse
from click.testing import CliRunner, Result
from moto import mock_aws

from functions.authorizer.handler import handler
from infra.local.postgres import Postgres
from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.cli.main import main
from lamplighter.domain.api_key import digest
from lamplighter.domain.errors import LedgerUnavailable
from tests.adapters.targets.couriering import Raw

Keys = Callable[..., Result]


@pytest.fixture(params=["ledger", "function"])
def keys(
    request: pytest.FixtureRequest, postgres_server: Postgres, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Keys]:
    """Types a command; it must end with `exits`."""
    url = postgres_server.ensure_database(f"keys{uuid4().hex}")
    migrate(url, days_ahead=0)
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", url)
    wiring.forget()
    rest = _by_function(monkeypatch) if request.param == "function" else []

    def type_in(*words: str, exits: int = 0) -> Result:
        result = CliRunner().invoke(main, ["keys", *words, *rest])
        assert result.exit_code == exits, (result.output, result.exception)
        return result

    yield type_in
    wiring.api_keys().close()
    wiring.forget()


def _by_function(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Behind AWS's own client, which checks what it is given against the service's model."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    make: Any = Clients.get

    def get(self: Clients, *given: Any, **more: Any) -> Any:
        client = make(self, *given, **more)
        client.meta.events.register("before-send.lambda.Invoke", _invoke, unique_id="keys")
        return client

    monkeypatch.setattr(Clients, "get", get)
    return ["--function", "cell-authorizer"]


def _invoke(request: Any, **_: Any) -> Any:
    headers: Any = {}
    assert "lamp_" not in str(request.body)  # the key stays where it was made
    try:
        answer = handler(json.loads(request.body), None)
    except Exception as error:  # noqa: BLE001 - as Lambda does
        headers = {"x-amz-function-error": "Unhandled"}
        answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
    return AWSResponse(request.url, 200, headers, Raw(json.dumps(answer).encode()))


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine with credentials and no region, and an AWS in which nothing was deployed."""
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("LAMPLIGHTER_BUS", "sqs")
    monkeypatch.chdir(tmp_path)
    wiring.forget()
    with mock_aws():
        yield
    wiring.forget()


def test_a_key_is_shown_once_and_its_hash_is_kept(keys: Keys) -> None:
    made = keys("create", "ci", "--tenant", "acme", "--role", "reader", "--expires-in", "30d")

    key = made.stdout.strip()
    [listed] = json.loads(keys("list", "--json").stdout)
    assert wiring.api_keys().find(digest(key)) == wiring.api_keys().list("acme")[0]
    assert (listed["tenant"], listed["name"], listed["role"]) == ("acme", "ci", "reader")
    assert listed["expires_at"] > listed["created_at"]
    assert listed["key_id"] in made.stderr
    assert key not in made.stderr + keys("list").output


def test_a_revoked_key_stays_in_the_list_as_that(keys: Keys) -> None:
    keys("create", "one")
    keys("create", "two", "--tenant", "acme")
    [one] = json.loads(keys("list", "--tenant", "default", "--json").stdout)

    keys("revoke", one["key_id"])

    by_name = {each["name"]: each for each in json.loads(keys("list", "--json").stdout)}
    assert by_name["one"]["revoked_at"] is not None
    assert by_name["two"]["revoked_at"] is None
    assert one["key_id"] in keys("list").stdout


def test_an_id_that_nobody_has_is_said_so(keys: Keys) -> None:
    refused = keys("revoke", str(uuid4()), exits=1)

    assert "There is no key" in refused.output
    assert "is not a valid UUID" in keys("revoke", "one", exits=2).output


def test_a_ledger_out_of_reach_is_said_so(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> Any:
        raise LedgerUnavailable("nobody there")

    monkeypatch.setattr(wiring, "keyring", away)

    assert "nobody there" in keys("list", exits=1).output


def test_a_function_is_asked_in_the_region_that_the_variable_names(
    nowhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """boto3 itself knows AWS_DEFAULT_REGION alone, which may be another."""
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")

    refused = CliRunner().invoke(main, ["keys", "list", "--function", "cell-authorizer"])

    assert "arn:aws:lambda:eu-central-1:" in refused.output


@pytest.mark.parametrize("command", [["keys", "list", "--function", "f"], ["redrive", "--list"]])
def test_without_any_region_one_is_told_what_to_set(nowhere: None, command: list[str]) -> None:
    refused = CliRunner().invoke(main, command)

    assert refused.exit_code == 1
    assert "no region is known: set AWS_REGION" in refused.output
