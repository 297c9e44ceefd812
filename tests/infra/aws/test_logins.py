"""Who is who in the database, as templates say it; `tests/functions/test_logins.py` tries it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from botocore.validate import ParamValidator

from infra.aws import assets
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


def test_the_deployments_calls_are_ones_that_aws_has(template: Template) -> None:
    """With the parameters that its models ask for, each of its type."""
    found = list(_calls(template))

    assert len(found) == (4 if template.profile.broker else 2)
    for call in found:
        model = botocore.session.Session().get_service_model(call["service"])
        shape = model.operation_model(call["action"]).input_shape
        assert shape
        report = ParamValidator().validate(call["parameters"], shape)
        assert not report.has_errors(), report.generate_report()
        assert call["parameters"].keys() <= shape.members.keys()


def test_the_logins_are_made_by_the_sql_that_was_tried(template: Template) -> None:
    [sql] = {call["parameters"]["sql"] for call in _calls(template) if "sql" in call["parameters"]}

    assert sql == make_logins()


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
