"""Targets that moto cannot play, against answers that botocore checks for their shape."""

import base64
import io
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import ANY, Stubber

from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.aws.ecs import EcsTarget, _overrides
from lamplighter.adapters.targets.aws.lambda_function import LambdaTarget
from lamplighter.adapters.targets.registry import Registry
from lamplighter.domain.run import Verdict
from lamplighter.domain.target import EcsSpec
from lamplighter.ports.target import Target
from lamplighter.stages.run import Limits, Runner
from tests.adapters.targets.running import KnownSecrets, claim, run_one

TASK = "arn:aws:ecs:eu-west-1:123456789012:task/c/0123"
ECS = {"type": "ecs", "cluster": "c", "task_definition": "report:3"}


@cache
def _session() -> boto3.session.Session:
    """It reads the services' descriptions, which takes a while."""
    return boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b")


class Scripted(Clients):
    """Gives out one client, whose answers a test has written."""

    def __init__(self, service: str) -> None:
        super().__init__()
        make: Any = _session().client
        self.client = make(service, region_name="eu-west-1")
        self.script = Stubber(self.client)
        self.script.activate()
        self.read_seconds = 0.0

    def get(self, service: str, region: str | None = None, **options: Any) -> Any:  # noqa: ARG002
        self.read_seconds = options.get("read_seconds", 0.0)
        return self.client


class NoLogs:
    def open(self, name: Any) -> Any:
        raise OSError(f"no log for {name.fence}")

    def url(self, name: Any) -> str:
        raise OSError(f"no log for {name.fence}")

    def read(self, url: str, offset: int = 0, limit: int = 0) -> bytes:
        raise OSError(f"{url} {offset} {limit}")


@pytest.fixture
def functions() -> Scripted:
    return Scripted("lambda")


@pytest.fixture
def ecs() -> Iterator[Scripted]:
    made = Scripted("ecs")
    yield made
    made.script.assert_no_pending_responses()


def over(kind: str, target: Target[Any]) -> Runner:
    return Runner(Registry({kind: target}), NoLogs(), KnownSecrets(), Limits())


def answer(body: bytes, **more: Any) -> dict[str, Any]:
    return {"StatusCode": 200, "Payload": StreamingBody(io.BytesIO(body), len(body)), **more}


def invoke(functions: Scripted, response: dict[str, Any], payload: Any = None, **spec: Any) -> Any:
    functions.script.add_response("invoke", response)
    target = {"type": "lambda", "function": "resize", **spec}
    return run_one(over("lambda", LambdaTarget(functions)), claim(target, payload))


def test_a_functions_answer_is_the_result_and_its_log_the_output(functions: Scripted) -> None:
    log = base64.b64encode(b"START\nEND\n").decode()

    outcome = invoke(functions, answer(b'{"width": 10}', LogResult=log), {"key": "a.png"})

    assert (outcome.verdict, outcome.result) == (Verdict.SUCCESS, {"width": 10})
    assert outcome.stdout == "START\nEND\n"
    assert functions.read_seconds == 300


def test_a_function_gets_the_payload_alone_and_the_run_beside_it(functions: Scripted) -> None:
    run = claim({"type": "lambda", "function": "resize", "qualifier": "live"}, {"key": "a.png"})
    seen: dict[str, Any] = {}
    functions.client.meta.events.register(
        "provide-client-params.lambda.Invoke", lambda params, **_: seen.update(params)
    )
    functions.script.add_response("invoke", answer(b"null"))

    run_one(over("lambda", LambdaTarget(functions)), run)

    assert (seen["FunctionName"], seen["Qualifier"]) == ("resize", "live")
    assert json.loads(seen["Payload"]) == {"key": "a.png"}
    custom = json.loads(base64.b64decode(seen["ClientContext"]))["custom"]
    assert (custom["run_id"], custom["fence"]) == (str(run.run_id), "7")


def test_a_function_that_raised_fails_the_run_in_its_own_words(functions: Scripted) -> None:
    body = b'{"errorMessage": "no such key", "errorType": "KeyError"}'

    outcome = invoke(functions, answer(body, FunctionError="Unhandled"))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, True)
    assert outcome.error == "the function failed (Unhandled): KeyError: no such key"


def test_an_answer_that_is_no_json_is_kept_as_text(functions: Scripted) -> None:
    assert invoke(functions, answer(b"<html>")).result == "<html>"


def test_a_function_that_is_not_waited_for_gets_the_run_in_its_event(functions: Scripted) -> None:
    functions.script.add_response(
        "invoke",
        {"StatusCode": 202},
        {"FunctionName": "resize", "InvocationType": "Event", "Payload": ANY},
    )
    target = {"type": "lambda", "function": "resize", "wait": False}

    outcome = run_one(over("lambda", LambdaTarget(functions)), claim(target, {"a": 1}))

    assert outcome.result == {"queued": True}


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [("ResourceNotFoundException", 404, False), ("TooManyRequestsException", 429, True)],
)
def test_a_function_that_cannot_be_invoked(
    functions: Scripted, code: str, status: int, retryable: bool
) -> None:
    functions.script.add_client_error("invoke", code, "why", status)

    outcome = run_one(
        over("lambda", LambdaTarget(functions)), claim({"type": "lambda", "function": "f"})
    )

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, retryable)
    assert code in (outcome.error or "")


def started(ecs: Scripted, expected: dict[str, Any] | None = None) -> None:
    ecs.script.add_response("run_task", {"tasks": [{"taskArn": TASK}], "failures": []}, expected)


def seen(ecs: Scripted, status: str, **more: Any) -> None:
    task = {"taskArn": TASK, "lastStatus": status, **more}
    ecs.script.add_response("describe_tasks", {"tasks": [task]}, {"cluster": "c", "tasks": [TASK]})


def over_ecs(ecs: Scripted) -> Runner:
    return over("ecs", EcsTarget(ecs, poll_seconds=0.01))


def test_a_task_is_run_and_waited_for(ecs: Scripted) -> None:
    run = claim({**ECS, "subnets": ["subnet-1"], "container": "app", "command": ["go"]}, {"a": 1})
    started(
        ecs,
        {
            "cluster": "c", "taskDefinition": "report:3", "launchType": "FARGATE", "count": 1,
            "startedBy": str(run.run_id), "clientToken": f"{run.run_id}-1",
            "networkConfiguration": {"awsvpcConfiguration": {
                "subnets": ["subnet-1"], "securityGroups": [], "assignPublicIp": "DISABLED"}},
            "overrides": {"containerOverrides": [
                {"name": "app", "command": ["go"], "environment": ANY}]},
        },
    )  # fmt: skip
    ecs.script.add_response("describe_tasks", {"tasks": []})
    seen(ecs, "RUNNING")
    seen(ecs, "STOPPED", containers=[{"name": "app", "exitCode": 0}])

    outcome = run_one(over_ecs(ecs), run)

    assert outcome.result == {"task_arn": TASK, "exit_codes": {"app": 0}}


def test_a_task_that_is_not_waited_for_is_a_success_once_started(ecs: Scripted) -> None:
    started(ecs)

    assert run_one(over_ecs(ecs), claim({**ECS, "wait": False})).result == {"task_arn": TASK}


def test_a_task_that_failed_says_so(ecs: Scripted) -> None:
    started(ecs)
    containers = [{"name": "app", "exitCode": 137}]
    seen(ecs, "STOPPED", containers=containers, stoppedReason="OutOfMemoryError")

    outcome = run_one(over_ecs(ecs), claim(ECS))

    assert outcome.error == "the task ended: app with exit code 137; OutOfMemoryError"


def test_a_task_without_any_exit_code_failed_too(ecs: Scripted) -> None:
    started(ecs)
    seen(ecs, "STOPPED", containers=[{"name": "app"}], stoppedReason="CannotPullContainerError")

    assert run_one(over_ecs(ecs), claim(ECS)).error == "the task ended: CannotPullContainerError"


def test_a_task_for_which_there_is_no_room_may_be_tried_again(ecs: Scripted) -> None:
    failure = {"arn": "x", "reason": "RESOURCE:MEMORY"}
    ecs.script.add_response("run_task", {"tasks": [], "failures": [failure]})

    outcome = run_one(over_ecs(ecs), claim(ECS))

    assert (outcome.error, outcome.retryable) == ("ecs started no task: RESOURCE:MEMORY", True)


def test_a_task_that_a_lost_worker_had_started_is_found_again(ecs: Scripted) -> None:
    run = claim(ECS)
    ecs.script.add_client_error("run_task", "ConflictException", "token", 400)
    wanted = {"cluster": "c", "startedBy": str(run.run_id)}
    ecs.script.add_response("list_tasks", {"taskArns": []}, wanted | {"desiredStatus": "RUNNING"})
    ecs.script.add_response(
        "list_tasks", {"taskArns": [TASK]}, wanted | {"desiredStatus": "STOPPED"}
    )
    seen(ecs, "STOPPED", containers=[{"name": "app", "exitCode": 0}])

    assert run_one(over_ecs(ecs), run).verdict is Verdict.SUCCESS


def test_a_task_past_its_time_is_stopped(ecs: Scripted) -> None:
    started(ecs)
    seen(ecs, "RUNNING")
    ecs.script.add_response(
        "stop_task", {}, {"cluster": "c", "task": TASK, "reason": "stopped by Lamplighter"}
    )
    runner = over("ecs", EcsTarget(ecs, poll_seconds=60))

    outcome = run_one(runner, claim(ECS, timeout_seconds=1))

    assert outcome.verdict is Verdict.TIMED_OUT
    assert "left behind" not in (outcome.error or "")


def test_a_large_payload_stays_out_of_the_overrides() -> None:
    spec = EcsSpec("c", "t", container="app")
    names = [
        {each["name"] for each in _overrides(spec, claim(ECS, payload))["environment"]}
        for payload in ("x" * 10_000, {"a": 1})
    ]

    assert "LAMPLIGHTER_PAYLOAD" not in names[0]
    assert "LAMPLIGHTER_PAYLOAD" in names[1]
