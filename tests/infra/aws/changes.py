"""Ways to spoil a template, and whether a test then notices."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.infra.aws.template import Template, flat, listed

Change = Callable[[Template], None]
Check = Callable[[Template], None]


def without(kind: str, holding: str = "") -> Change:
    """Remove the resources of a type whose id or content has this in it."""

    def change(template: Template) -> None:
        for name, each in list(template.of_type(kind).items()):
            if holding in name or holding in flat(each):
                del template.resources[name]

    return change


def hidden(queue: str, seconds: int) -> Change:
    """How long what was taken from a queue stays hidden."""

    def change(template: Template) -> None:
        (found,) = (
            each
            for each in template.properties("AWS::SQS::Queue")
            if each["QueueName"] == f"lamplighter-{queue}"
        )
        found["VisibilityTimeout"] = seconds

    return change


def changed(kind: str, path: str, value: Any) -> Change:
    """Of the first resource of a type. None takes the property away."""

    def change(template: Template) -> None:
        target = template.properties(kind)[0]
        *way, last = path.split(".")
        for step in way:
            target = target[step]
        if value is None:
            del target[last]
        else:
            target[last] = value

    return change


def independent(*kinds: str) -> Change:
    """Several where one says for the other what it waits for."""

    def change(template: Template) -> None:
        for each in template.resources.values():
            if each["Type"] in kinds:
                each.pop("DependsOn", None)

    return change


def forbidden(action: str) -> Change:
    def change(template: Template) -> None:
        for policy in template.properties("AWS::IAM::Policy"):
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = [each for each in listed(statement["Action"]) if each != action]
                statement["Action"] = actions

    return change


def told(function: str, name: str, value: str) -> Change:
    def change(template: Template) -> None:
        template.variables(function)[name] = value

    return change


def noticed(change: Change, check: Check, template: Template) -> None:
    """It holds for the whole, else that it fails without a piece would prove nothing."""
    check(template.copy())
    broken = template.copy()
    change(broken)

    with pytest.raises((AssertionError, KeyError, ValueError)):
        check(broken)


def names(cases: Sequence[tuple[str, Change, Check]]) -> list[str]:
    return [f"{number}-{check.__name__}" for number, (_, _, check) in enumerate(cases)]
