"""`events/` and what it says of calling by hand, against the templates."""

from typing import Any, Final

import pytest

from functions.migrate.handler import RESOURCE_ID
from tests.functions.calling import recorded
from tests.infra.aws.template import Template

pytestmark = pytest.mark.xdist_group("aws")

MIGRATE: Final = {"migrate_create": "Create", "migrate": "Update", "migrate_delete": "Delete"}


def _schema(template: Template) -> tuple[str, dict[str, Any]]:
    ((name, resource),) = template.of_type("Custom::LamplighterSchema").items()
    return name, resource


@pytest.mark.parametrize("event", MIGRATE)
def test_migrate_is_called_for_the_resource_that_the_stack_has(
    event: str, template: Template
) -> None:
    name, resource = _schema(template)

    sent = recorded(event)

    assert sent["RequestType"] == MIGRATE[event]
    assert sent["ResourceType"] == resource["Type"]
    assert sent["LogicalResourceId"] == name
    assert sent["ResourceProperties"].keys() == resource["Properties"].keys()
    assert sent["ServiceToken"] == sent["ResourceProperties"]["ServiceToken"]


def test_each_kind_of_call_has_what_cloudformation_adds_to_it() -> None:
    create, update, delete = map(recorded, MIGRATE)

    assert update.keys() - delete.keys() == {"OldResourceProperties"}
    assert delete.keys() - create.keys() == {"PhysicalResourceId"}
    assert update["PhysicalResourceId"] == delete["PhysicalResourceId"] == RESOURCE_ID
    before, after = update["OldResourceProperties"], update["ResourceProperties"]
    assert before.keys() == after.keys()
    assert before != after, "or CloudFormation would not have called"


def test_every_functions_name_is_an_output(template: Template) -> None:
    outputs = {name: each["Value"] for name, each in template.body["Outputs"].items()}

    for name in template.functions():
        assert outputs[f"{name.capitalize()}Function"] == {"Ref": template.function(name)}
