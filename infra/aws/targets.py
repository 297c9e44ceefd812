"""What it takes to call the targets that a deployer named, from their ARNs."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# Of a target's ARN: which service, and what follows region and account.
_SERVICE: Final = 2
_WHAT: Final = 5
_CALL: Final = {"sqs": "sqs:SendMessage", "sns": "sns:Publish", "events": "events:PutEvents"}
_TASKS: Final = "ecs-tasks.amazonaws.com"
# A role may have ten managed policies of 6,144 characters each. One is the fence; the CDK fills the
# others with what the role's own has no room for, none of them quite, and repeats what statements
# begin with.
MOST_CHARACTERS: Final = 9 * 5_500


@dataclass(frozen=True)
class Allowed:
    """One statement of a policy."""

    actions: tuple[str, ...]
    arns: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]] | None = None


def allowed(targets: Sequence[str]) -> list[Allowed]:
    """Only what was named: a job's author must not reach all of an account."""
    clusters = [arn for arn in targets if is_cluster(arn)]
    return [each for arn in targets for each in _of(arn, clusters)]


def characters(targets: Sequence[str]) -> int:
    """How long that is in a role's policies. Statements that differ in resources alone are one."""
    found = allowed(targets)
    heads = {json.dumps([each.actions, each.conditions]) for each in found}
    arns = [f'"{arn}",' for each in found for arn in each.arns]
    return len("".join([*heads, *arns])) + len(heads) * len('{"Action":,"Effect":"Allow"}')


def is_cluster(arn: str) -> bool:
    return service(arn) == "ecs" and _what(arn).startswith("cluster/")


def service(arn: str) -> str:
    return arn.split(":")[_SERVICE]


def _what(arn: str) -> str:
    return arn.split(":", _WHAT)[_WHAT]


def _of(arn: str, clusters: Sequence[str]) -> Iterator[Allowed]:
    match service(arn):
        case "lambda":
            yield Allowed(("lambda:InvokeFunction",), _with_versions(arn, "function:"))
        case "states":
            yield from _machine(arn)
        case "iam":
            ours = {"StringEquals": {"iam:PassedToService": _TASKS}}
            yield Allowed(("iam:PassRole",), (arn,), ours)
        case "ecs" if is_cluster(arn):
            yield from _cluster(arn)
        case "ecs":
            # The cluster is no resource of this call: without a condition it is the job's choice.
            there = {"ArnEquals": {"ecs:cluster": list(clusters)}}
            yield Allowed(("ecs:RunTask",), _with_versions(arn, "task-definition/"), there)
        case other:
            yield Allowed((_CALL[other],), (arn,))


def _with_versions(arn: str, before: str) -> tuple[str, ...]:
    """As it is called; where that says no alias, version or revision, with any of them as well."""
    name = _what(arn).removeprefix(before)
    return (arn,) if ":" in name or name.endswith("*") else (arn, f"{arn}:*")


def _machine(arn: str) -> Iterator[Allowed]:
    """Step Functions looks for a machine without its alias, which a condition can ask for."""
    parts = arn.split(":")
    machine, alias = ":".join(parts[: _WHAT + 2]), ":".join(parts[_WHAT + 2 :])
    only = {"ForAnyValue:StringLike": {"states:StateMachineQualifier": [alias]}} if alias else None
    yield Allowed(("states:StartExecution",), (machine,), only)
    executions = machine.replace(":stateMachine:", ":execution:", 1) + ":*"
    # For jobs that wait: how it ends, and to end it with the run.
    yield Allowed(("states:DescribeExecution", "states:StopExecution"), (executions,))


def _cluster(arn: str) -> Iterator[Allowed]:
    """See how a task ends, stop it, and find one that was started before."""
    tasks = arn.replace(":cluster/", ":task/", 1) + "/*"
    yield Allowed(("ecs:DescribeTasks", "ecs:StopTask"), (tasks,))
    # Listing knows no task as its resource; the condition says which cluster's.
    yield Allowed(("ecs:ListTasks",), ("*",), {"ArnEquals": {"ecs:cluster": arn}})
