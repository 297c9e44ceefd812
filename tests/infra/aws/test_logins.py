"""Who is who in the database, as templates say it; `tests/functions/test_logins.py` tries it."""

import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from botocore.validate import ParamValidator

from infra.aws import assets, logins_function
from infra.aws.constructs.schema import migrations_digest
from infra.aws.logins import LOGIN, make_logins
from tests.infra.aws.template import Template, environments, flat

pytestmark = pytest.mark.xdist_group("aws")


def _users(template: Template) -> dict[str, str | None]:
    """As whom each function and task connects."""
    urls = {
        name: flat(each["LAMPLIGHTER_DATABASE_URL"])
        for name, each in environments(template).items()
        if "LAMPLIGHTER_DATABASE_URL" in each
    }
    return {name: urlsplit(url).username for name, url in urls.items()}


def _role(template: Template, name: str) -> str:
    if name != "worker":
        return template.role_of(name)
    role: str = template.one("AWS::ECS::TaskDefinition")["TaskRoleArn"]["Fn::GetAtt"][0]
    return role


def test_who_migrates_is_another_than_who_works(template: Template) -> None:
    users = _users(template)

    assert users.pop("migrate") == "lamplighter_migrate"
    assert users.keys() >= {"submit", "watcher", "executor", "recorder", "worker"}
    assert set(users.values()) == {"lamplighter"}
    told = {name for name, each in environments(template).items()
            if "LAMPLIGHTER_DATABASE_LOGIN" in each}  # fmt: skip
    assert told == {"migrate"}
    assert template.variables("migrate")["LAMPLIGHTER_DATABASE_LOGIN"] == LOGIN


def test_everybody_may_enter_as_who_they_are_and_as_nobody_else(template: Template) -> None:
    for name, user in _users(template).items():
        arns = map(flat, template.may(_role(template, name), "rds-db:connect"))
        assert [arn.rpartition("/")[2] for arn in arns] == [user], name


def _calls(template: Template) -> Iterator[dict[str, Any]]:
    """Of AWS's API, that a deployment makes: when something is new, and when it has changed."""
    for each in template.properties("Custom::AWS"):
        for when in ("Create", "Update"):
            yield json.loads(flat(each[when]))


def _statement(template: Template) -> dict[str, str]:
    """What the logins' function is asked for, as CloudFormation would send it."""
    given = template.one("Custom::LamplighterLogins")
    return {name: flat(value) for name, value in given.items() if name != "ServiceToken"}


def test_the_deployments_calls_are_ones_that_aws_has(with_kafka: Template) -> None:
    """With the parameters that its models ask for, each of its type."""
    found = list(_calls(with_kafka))

    assert len(found) == 2
    for call in found:
        model = botocore.session.Session().get_service_model(call["service"])
        shape = model.operation_model(call["action"]).input_shape
        assert shape
        report = ParamValidator().validate(call["parameters"], shape)
        assert not report.has_errors(), report.generate_report()
        assert call["parameters"].keys() <= shape.members.keys()


def test_the_logins_are_made_by_the_sql_that_was_tried(template: Template) -> None:
    assert _statement(template)["sql"] == make_logins()


def test_the_logins_function_is_the_one_that_was_tried(template: Template) -> None:
    """Outside the network, with time for a database that wakes, and with nothing else allowed."""
    (maker,) = (name for name in template.of_type("AWS::Lambda::Function") if "LoginsMaker" in name)
    made = template.resources[maker]["Properties"]
    role = made["Role"]["Fn::GetAtt"][0]

    assert made["Code"]["ZipFile"] == Path(logins_function.__file__).read_text(encoding="utf-8")
    assert (made["Handler"], made["Runtime"]) == ("index.handler", "python3.13")
    assert made["Timeout"] >= logins_function.WAKE_SECONDS + 45  # the longest that a statement has
    assert "VpcConfig" not in made
    given = _statement(template)
    for action, name in (
        ("rds-data:ExecuteStatement", "resourceArn"),
        ("secretsmanager:GetSecretValue", "secretArn"),
    ):
        assert [flat(arn) for arn in template.may(role, action)] == [given[name]]
    (logins,) = template.of_type("Custom::LamplighterLogins")
    allowed = {
        name
        for name, each in template.of_type("AWS::IAM::Policy").items()
        if {"Ref": role} in each["Properties"]["Roles"]
    }
    assert {maker, *allowed} <= template.before(logins)


ASKED = {
    "resourceArn": "arn:aws:rds:us-east-1:123456789012:cluster:ledger",
    "secretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:owner-abcdef",
    "database": "lamplighter",
    "sql": make_logins(),
}


@pytest.fixture
def data_api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stubber]:
    """The Data API as botocore's model has it: what it is not asked for by the book is refused."""
    client = boto3.client("rds-data", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    monkeypatch.setattr(boto3, "client", lambda _: client)
    with Stubber(client) as stubber:
        yield stubber


def _refuse(data_api: Stubber, code: str, status: int = 400) -> None:
    data_api.add_client_error("execute_statement", code, "not now", status, expected_params=ASKED)


def _event(kind: str) -> dict[str, Any]:
    return {"RequestType": kind, "ResourceProperties": {"ServiceToken": "arn:…", **ASKED}}


def test_a_database_that_rests_is_asked_again_until_it_is_awake(data_api: Stubber) -> None:
    slept: list[float] = []
    for code, status in (("DatabaseResumingException", 400), ("DatabaseUnavailableException", 504)):
        _refuse(data_api, code, status)
    data_api.add_response("execute_statement", {}, ASKED)

    logins_function.execute(data_api.client, ASKED, slept.append, lambda: 0.0)

    data_api.assert_no_pending_responses()
    assert slept == [logins_function.PAUSE_SECONDS] * 2


def test_a_database_that_never_wakes_is_not_waited_for_for_ever(data_api: Stubber) -> None:
    clock = itertools.count(0.0, logins_function.WAKE_SECONDS / 2)
    for _ in range(2):
        _refuse(data_api, "DatabaseResumingException")

    with pytest.raises(ClientError, match="DatabaseResumingException"):
        logins_function.execute(data_api.client, ASKED, lambda _: None, lambda: next(clock))
    data_api.assert_no_pending_responses()


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_the_logins_are_asked_for_once_where_the_database_is_awake(
    kind: str, data_api: Stubber
) -> None:
    data_api.add_response("execute_statement", {}, ASKED)

    assert logins_function.handler(_event(kind), None) == {"PhysicalResourceId": "login"}
    data_api.assert_no_pending_responses()


def test_what_the_database_refuses_is_not_asked_twice(data_api: Stubber) -> None:
    _refuse(data_api, "DatabaseErrorException")

    with pytest.raises(ClientError, match="DatabaseErrorException"):
        logins_function.handler(_event("Create"), None)


def test_deleting_the_logins_asks_for_nothing(data_api: Stubber) -> None:
    assert logins_function.handler(_event("Delete"), None) == {"PhysicalResourceId": "login"}


def test_the_data_api_knows_the_error_of_one_that_rests() -> None:
    model = botocore.session.Session().get_service_model("rds-data")
    errors = {each.name for each in model.operation_model("ExecuteStatement").error_shapes}

    assert errors >= {"DatabaseResumingException", "DatabaseUnavailableException"}
    assert logins_function._PASSING - {"ThrottlingException"} <= errors


@pytest.mark.parametrize("name", ["role.py", "schema.sql", "migrations/9999_pre_more.sql"])
def test_whoever_may_use_the_tables_is_settled_anew_when_that_changes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(assets.CORE / "adapters" / "postgres", tmp_path / "adapters/postgres")
    monkeypatch.setattr(assets, "CORE", tmp_path)
    before = migrations_digest()

    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("\n")

    assert migrations_digest() != before
