"""What jobs may address: all that calling it takes is allowed, and nothing else is."""

import ast
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name

from infra.aws.targets import Allowed, allowed
from lamplighter.adapters.targets import aws
from tests.infra.aws.conftest import TARGETS
from tests.infra.aws.template import Template, environments, flat

pytestmark = pytest.mark.xdist_group("aws")

# boto3's name of a service -> IAM's, where they differ; and the same of an operation.
_SERVICE = {"stepfunctions": "states"}
_ACTION = {"lambda:Invoke": "lambda:InvokeFunction"}


def _called() -> dict[str, set[str]]:
    """Type of target -> the actions that its adapter's calls need, read from its source."""
    folder = Path(aws.__path__[0])
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py"))
    return {kind: actions for tree in trees for kind, actions in _actions(tree)}


def _actions(tree: ast.Module) -> list[tuple[str, set[str]]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Attribute)]
    services = {
        str(call.args[0].value)
        for call in named
        if ast.unparse(call.func) == "self._clients.get" and isinstance(call.args[0], ast.Constant)
    }
    methods = {call.func.attr for call in named if isinstance(call.func, ast.Attribute)}
    return [
        ({"events": "eventbridge"}.get(each, each), _of_service(each, methods)) for each in services
    ]


def _of_service(service: str, methods: set[str]) -> set[str]:
    model = botocore.session.get_session().get_service_model(service)
    prefix = _SERVICE.get(service, service)
    found = {f"{prefix}:{op}" for op in model.operation_names if xform_name(op) in methods}
    return {_ACTION.get(action, action) for action in found}


def _granted(*arns: str) -> set[str]:
    return {action for each in allowed(arns) for action in each.actions}


def test_every_call_of_a_targets_adapter_is_allowed_and_no_other() -> None:
    called = _called()

    assert called["ecs"] == {"ecs:RunTask", "ecs:DescribeTasks", "ecs:ListTasks", "ecs:StopTask"}
    assert called["stepfunctions"] >= {"states:DescribeExecution", "states:StopExecution"}
    assert called.keys() == {"lambda", "sqs", "sns", "eventbridge", "stepfunctions", "ecs"}
    for kind, actions in called.items():
        beside = [TARGETS["cluster"]] if kind == "ecs" else []
        assert _granted(TARGETS[kind], *beside) == actions, kind


def _as_tuples(statements: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Action, resource and condition, one by one: the CDK joins statements that are alike."""
    return {
        (action, flat(arn), str(each.get("Condition")))
        for each in statements
        for action in _listed(each["Action"])
        for arn in _listed(each["Resource"])
    }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def test_executors_and_workers_may_call_what_was_named(chosen: Template) -> None:
    wanted = {
        (action, arn, str(each.conditions))
        for each in allowed(list(TARGETS.values()))
        for action in each.actions
        for arn in each.arns
    }

    for role in _those_who_run_jobs(chosen):
        assert wanted <= _as_tuples(chosen.statements(role))
    assert not wanted & _as_tuples(chosen.statements(chosen.role_of("recorder")))


def test_a_task_of_a_target_runs_in_no_cluster_but_those_named() -> None:
    (run,) = (each for each in allowed(list(TARGETS.values())) if "ecs:RunTask" in each.actions)
    follow, listing = allowed([TARGETS["cluster"]])

    assert run.arns == (TARGETS["ecs"],)
    assert run.conditions == {"ArnEquals": {"ecs:cluster": [TARGETS["cluster"]]}}
    assert follow.arns == ("arn:aws:ecs:eu-west-1:123456789012:task/batch/*",)
    assert listing.conditions == {"ArnEquals": {"ecs:cluster": TARGETS["cluster"]}}


def test_a_role_is_handed_to_tasks_and_to_nothing_else() -> None:
    (handed_on,) = allowed([TARGETS["role"]])

    assert handed_on.arns == (TARGETS["role"],)
    assert handed_on.conditions == {
        "StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}
    }


@pytest.mark.parametrize(
    ("arn", "more"),
    [
        (TARGETS["lambda"], [TARGETS["lambda"] + ":*"]),
        (TARGETS["lambda"] + ":live", []),
        ("arn:aws:lambda:eu-west-1:1:function:report-*", []),
        ("arn:aws:ecs:eu-west-1:1:task-definition/report",
         ["arn:aws:ecs:eu-west-1:1:task-definition/report:*"]),
        (TARGETS["ecs"], []),
    ],
)  # fmt: skip
def test_what_was_named_without_a_version_may_be_called_in_any(arn: str, more: list[str]) -> None:
    (call,) = allowed([arn])

    assert list(call.arns) == [arn, *more]


def test_an_execution_that_a_job_waits_for_can_be_followed_and_stopped() -> None:
    start, follow = allowed([TARGETS["stepfunctions"]])

    assert start == Allowed(("states:StartExecution",), (TARGETS["stepfunctions"],))
    assert follow == Allowed(
        ("states:DescribeExecution", "states:StopExecution"),
        ("arn:aws:states:eu-west-1:123456789012:execution:orders:*",),
    )


def test_a_machine_that_was_named_with_its_alias_is_started_by_that_alone() -> None:
    """Step Functions looks for the machine's own ARN, whatever the call says behind it."""
    start, follow = allowed([TARGETS["stepfunctions"] + ":live"])

    assert start.arns == (TARGETS["stepfunctions"],)
    assert start.conditions == {
        "ForAnyValue:StringLike": {"states:StateMachineQualifier": ["live"]}
    }
    assert follow.arns == ("arn:aws:states:eu-west-1:123456789012:execution:orders:*",)


def _those_who_run_jobs(template: Template) -> list[str]:
    worker: str = template.one("AWS::ECS::TaskDefinition")["TaskRoleArn"]["Fn::GetAtt"][0]
    return [template.role_of("executor"), worker]


def test_jobs_call_no_function_of_the_scheduler_whatever_they_may_call(template: Template) -> None:
    """Those of the CDK's too: one of them makes any call of AWS's that it is told to."""
    courier = template.function("courier")
    functions = [f"<{name}.Arn>" for name in template.of_type("AWS::Lambda::Function")]
    others = [name for name in functions if name != f"<{courier}.Arn>"]

    for role in _those_who_run_jobs(template):
        never = set(map(flat, template.must_not(role, "lambda:InvokeFunction")))
        assert never == {*others, *(f"{name}:*" for name in others)}
        assert f"<{courier}.Arn>" in map(flat, template.may(role, "lambda:InvokeFunction"))


def test_jobs_hand_on_no_role_of_the_schedulers_tasks(template: Template) -> None:
    task = template.one("AWS::ECS::TaskDefinition")
    own = {flat(task["TaskRoleArn"]), flat(task["ExecutionRoleArn"])}

    for role in _those_who_run_jobs(template):
        assert set(map(flat, template.must_not(role, "iam:PassRole"))) == own


def _own_subnets(template: Template) -> dict[str, list[str]]:
    """Function or task -> those that it is told, in which no task of a job may start."""
    found = environments(template).items()
    told = {name: each.get("LAMPLIGHTER_OWN_SUBNETS") for name, each in found}
    return {name: flat(each).split(",") for name, each in told.items() if each is not None}


def test_who_takes_and_who_runs_jobs_knows_the_subnets_of_its_own_network(
    template: Template,
) -> None:
    """IAM cannot keep tasks out of them: what RunTask asks it for names no subnet."""
    subnets = sorted(f"<{name}>" for name in template.of_type("AWS::EC2::Subnet"))

    told = _own_subnets(template)

    assert told.keys() == {"submit", "recorder", "executor", "worker"}
    assert all(sorted(each) == subnets for each in told.values())


def test_with_nat_it_knows_all_of_them_as_well(chosen: Template) -> None:
    """There they are of other kinds, and the CDK keeps a list for each."""
    assert len(chosen.of_type("AWS::EC2::Subnet")) == 6

    test_who_takes_and_who_runs_jobs_knows_the_subnets_of_its_own_network(chosen)


def test_nothing_that_is_deployed_waits_for_what_jobs_must_not_call(template: Template) -> None:
    """It names the functions, so a function that waited for it would wait for itself."""
    (fence,) = template.of_type("AWS::IAM::ManagedPolicy")

    for name in template.resources:
        assert fence not in template.before(name), name


def test_what_the_scheduler_needs_of_its_own_is_not_denied(template: Template) -> None:
    for role in _those_who_run_jobs(template):
        for action in ("sns:Publish", "sqs:SendMessage"):
            assert not template.must_not(role, action)
