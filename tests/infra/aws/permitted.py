"""Who may do what in a template, as text to compare: roles, who may take them, and what lets in."""

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.infra.aws.template import Template, flat, listed

# What has a policy of its own, and where it is.
_OPEN_TO: Final = {
    "AWS::KMS::Key": "KeyPolicy",
    "AWS::S3::BucketPolicy": "PolicyDocument",
    "AWS::SNS::TopicPolicy": "PolicyDocument",
    "AWS::SQS::QueuePolicy": "PolicyDocument",
}
Snapshot = dict[str, dict[str, list[str]]]


def permissions(template: Template) -> Snapshot:
    """By role and resource, without the ids that the CDK makes up."""
    found = {role: _of_role(template, role) for role in sorted(template.of_type("AWS::IAM::Role"))}
    return found | {name: _told(template, each) for name, each in sorted(_own_policies(template))}


def _of_role(template: Template, role: str) -> dict[str, list[str]]:
    properties = template.resources[role]["Properties"]
    inline = [
        statement
        for policy in properties.get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    found = _told(template, template.statements(role) + inline)
    trust = properties["AssumeRolePolicyDocument"]["Statement"]
    found["taken by"] = sorted(_text(each, template) for each in trust)
    managed = properties.get("ManagedPolicyArns", [])
    return found | (
        {"managed": sorted(_text(each, template) for each in managed)} if managed else {}
    )


def _own_policies(template: Template) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for kind, key in _OPEN_TO.items():
        for name, each in template.of_type(kind).items():
            yield name, each["Properties"][key]["Statement"]


def _told(template: Template, statements: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Action -> resources, each with to whom and under which condition, where it says so."""
    found: dict[str, list[str]] = {}
    for statement in statements:
        never = "" if statement["Effect"] == "Allow" else "never "
        for action in listed(statement["Action"]):
            lines = found.setdefault(f"{never}{action}", [])
            lines += [_line(arn, statement, template) for arn in listed(statement["Resource"])]
    return {action: sorted(found[action]) for action in sorted(found)}


def _line(arn: Any, statement: dict[str, Any], template: Template) -> str:
    said = [
        f" {word} {_text(statement[key], template)}"
        for key, word in (("Principal", "to"), ("Condition", "if"))
        if key in statement
    ]
    return _text(arn, template) + "".join(said)


def _text(value: Any, template: Template) -> str:
    text = flat(value)
    if text == str(value) and not isinstance(value, str):
        text = json.dumps(_flattened(value), sort_keys=True)
    for name in sorted(template.resources, key=len, reverse=True):
        text = text.replace(f"<{name}", f"<{name[:-8]}")
    return text


def _flattened(value: Any) -> Any:
    """References inside as text, and the rest as it is."""
    text = flat(value)
    if text != str(value):
        return text
    if isinstance(value, dict):
        return {key: _flattened(each) for key, each in value.items()}
    return [_flattened(each) for each in value] if isinstance(value, list) else value
