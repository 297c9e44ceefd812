"""Targets of AWS that moto can play: queues, topics, buses, state machines."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any
from uuid import uuid4

import boto3
import pytest
from botocore.exceptions import ClientError, NoRegionError
from moto import mock_aws

from lamplighter.adapters.targets.aws import eventbridge, stepfunctions
from lamplighter.adapters.targets.aws.calls import explained, is_passing
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.run import Claimed, Verdict
from lamplighter.domain.target import StepFunctionsSpec
from lamplighter.ports.target import TargetFailed
from lamplighter.stages.run import Runner
from tests.adapters.targets.running import a_runner, claim, run_all, run_one

REGION = "eu-west-1"
ROLE = "arn:aws:iam::123456789012:role/run"


# One account for all of these: making clients takes longer than using them.
@pytest.fixture(scope="module", autouse=True)
def aws() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("AWS_DEFAULT_REGION", REGION)
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            patch.setenv(name, "testing")
        yield
    client.cache_clear()


@pytest.fixture(scope="module")
def runner(aws: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    made = a_runner(tmp_path_factory.mktemp("aws"))
    yield made
    made.close()


@cache
def client(service: str) -> Any:
    make: Any = boto3.client
    return make(service, region_name=REGION)


def named(suffix: str = "") -> str:
    return f"n{uuid4().hex}{suffix}"


def a_queue(**options: Any) -> str:
    return str(client("sqs").create_queue(**({"QueueName": named()} | options))["QueueUrl"])


def arn_of(url: str) -> str:
    found = client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(found["Attributes"]["QueueArn"])


def told(run: Claimed) -> dict[str, str]:
    return {"run_id": str(run.run_id), "job_id": str(run.job_id), "fence": "7", "attempt": "1"}


def texts(attributes: dict[str, dict[str, str]]) -> dict[str, str]:
    return {name: each.get("StringValue") or each["Value"] for name, each in attributes.items()}


def test_sqs_gets_the_payload_and_the_run_as_attributes(runner: Runner) -> None:
    sqs, url = client("sqs"), a_queue()
    run = claim({"type": "sqs", "queue_url": url, "attributes": {"kind": "bill"}}, {"a": 1})

    outcome = run_one(runner, run)

    [got] = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert outcome.result == {"message_id": got["MessageId"]}
    assert json.loads(got["Body"]) == {"a": 1}
    assert texts(got["MessageAttributes"]) == told(run) | {"kind": "bill"}


def test_a_fifo_queue_takes_a_run_once(runner: Runner) -> None:
    sqs = client("sqs")
    url = a_queue(QueueName=named(".fifo"), Attributes={"FifoQueue": "true"})
    run = claim({"type": "sqs", "queue_url": url}, 1)

    run_one(runner, run)
    run_one(runner, run)

    got = sqs.receive_message(QueueUrl=url, AttributeNames=["All"], MaxNumberOfMessages=10)
    [message] = got["Messages"]
    assert message["Attributes"]["MessageGroupId"] == str(run.job_id)
    assert message["Attributes"]["MessageDeduplicationId"] == str(run.run_id)


def test_a_queue_that_does_not_exist_fails_for_good(runner: Runner) -> None:
    url = f"https://sqs.{REGION}.amazonaws.com/123456789012/missing"

    outcome = run_one(runner, claim({"type": "sqs", "queue_url": url}))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert "NonExistentQueue" in (outcome.error or "")


def test_sns_reaches_its_subscribers(runner: Runner) -> None:
    sns, sqs, url = client("sns"), client("sqs"), a_queue()
    topic = sns.create_topic(Name=named())["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn_of(url))
    run = claim({"type": "sns", "topic_arn": topic, "subject": "Nightly"}, [1, 2])

    outcome = run_one(runner, run)

    assert outcome.verdict is Verdict.SUCCESS
    [got] = sqs.receive_message(QueueUrl=url)["Messages"]
    message = json.loads(got["Body"])
    assert (message["Subject"], json.loads(message["Message"])) == ("Nightly", [1, 2])
    assert texts(message["MessageAttributes"]) == told(run)


def test_a_fifo_topic_gets_group_and_deduplication(runner: Runner) -> None:
    options = {"Name": named(".fifo"), "Attributes": {"FifoTopic": "true"}}
    topic = client("sns").create_topic(**options)["TopicArn"]
    target = {"type": "sns", "topic_arn": topic, "message_group_id": "orders"}

    assert run_one(runner, claim(target, 1)).verdict is Verdict.SUCCESS


@pytest.mark.parametrize(
    ("payload", "detail"),
    [({"a": 1}, {"a": 1}), ([1], {"payload": [1]}), (None, {})],
)
def test_eventbridge_gets_the_payload_as_detail_with_the_run_in_it(
    runner: Runner, payload: Any, detail: dict[str, Any]
) -> None:
    source, url = named(), a_queue()
    _route(source, url)
    target = {"type": "eventbridge", "source": source, "detail_type": "Nightly run"}
    run = claim(target, payload)

    outcome = run_one(runner, run)

    assert outcome.verdict is Verdict.SUCCESS, outcome.error
    [got] = client("sqs").receive_message(QueueUrl=url)["Messages"]
    event = json.loads(got["Body"])
    assert (event["source"], event["detail-type"]) == (source, "Nightly run")
    about = event["detail"].pop("lamplighter")
    assert about == told(run) | {"fire_at": "2026-11-16T06:30:00.000+00:00"}
    assert event["detail"] == detail


def test_an_event_that_the_bus_does_not_take_is_a_failure() -> None:
    with pytest.raises(TargetFailed, match="NotAuthorizedForSource") as refused:
        eventbridge._judge({"ErrorCode": "NotAuthorizedForSource", "ErrorMessage": "no"})
    assert not refused.value.retryable
    with pytest.raises(TargetFailed) as passing:
        eventbridge._judge({"ErrorCode": "InternalFailure"})
    assert passing.value.retryable


def test_a_state_machine_is_started_once_under_the_runs_id(runner: Runner) -> None:
    sfn, machine = client("stepfunctions"), _machine()
    run = claim({"type": "stepfunctions", "state_machine_arn": machine}, {"order": 17})

    first, again = run_one(runner, run), run_one(runner, run)

    assert first.verdict is again.verdict is Verdict.SUCCESS
    assert first.result == again.result
    [execution] = sfn.list_executions(stateMachineArn=machine)["executions"]
    assert execution["name"] == str(run.run_id)
    given = json.loads(sfn.describe_execution(executionArn=execution["executionArn"])["input"])
    assert (given["order"], given["lamplighter"]["run_id"]) == (17, str(run.run_id))


def test_one_that_is_waited_for_has_an_execution_per_attempt_and_stops_with_the_run(
    runner: Runner,
) -> None:
    sfn, machine = client("stepfunctions"), _machine()
    target = {"type": "stepfunctions", "state_machine_arn": machine, "wait": True}
    run = claim(target, timeout_seconds=1)

    outcome = run_one(runner, run)  # moto's execution never ends by itself

    assert outcome.verdict is Verdict.TIMED_OUT
    assert "left behind" not in (outcome.error or "")
    [execution] = sfn.list_executions(stateMachineArn=machine)["executions"]
    assert execution["name"] == f"{run.run_id}-1"
    assert execution["status"] == "ABORTED"


def test_an_execution_that_was_stopped_fails_the_run() -> None:
    with pytest.raises(TargetFailed, match="the execution ended FAILED: Broken it broke"):
        stepfunctions._judge({"status": "FAILED", "error": "Broken", "cause": "it broke"})
    done = {"status": "SUCCEEDED", "executionArn": "arn", "output": '{"a": 1}'}
    assert stepfunctions._judge(done).result["output"] == {"a": 1}


def test_an_execution_is_found_by_its_machines_arn() -> None:
    machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:orders"

    for arn in (machine, f"{machine}:live"):
        found = stepfunctions._execution_arn(arn, "run")
        assert found == "arn:aws:states:eu-west-1:123456789012:execution:orders:run"


def test_a_target_in_another_region_is_reached_there(runner: Runner) -> None:
    far: Any = boto3.client("sqs", region_name="us-east-2")
    url = far.create_queue(QueueName="far")["QueueUrl"]

    outcome = run_one(runner, claim({"type": "sqs", "queue_url": url, "region": "us-east-2"}, 1))

    assert outcome.verdict is Verdict.SUCCESS
    assert len(far.receive_message(QueueUrl=url)["Messages"]) == 1


def test_many_at_once_share_one_client(runner: Runner) -> None:
    url = a_queue()

    outcomes = run_all(runner, *[claim({"type": "sqs", "queue_url": url}, n) for n in range(20)])

    assert {outcome.verdict for outcome in outcomes} == {Verdict.SUCCESS}


def test_clients_are_made_once_per_region_and_patience() -> None:
    clients = Clients(REGION)

    assert clients.get("sqs") is clients.get("sqs", REGION)
    assert clients.get("sqs") is not clients.get("sqs", "us-east-1")
    assert clients.get("lambda", read_seconds=31) is clients.get("lambda", read_seconds=60)
    assert clients.get("lambda", read_seconds=5).meta.config.read_timeout == 5
    assert clients.get("lambda", read_seconds=9999).meta.config.read_timeout == 900


@pytest.mark.parametrize(
    ("code", "status", "passing"),
    [("ThrottlingException", 400, True), ("AccessDenied", 403, False), ("Oops", 500, True),
     ("SlowDown", 503, True), ("TooMany", 429, True), ("ValidationException", 400, False)],
)  # fmt: skip
def test_time_helps_with_some_errors_only(code: str, status: int, passing: bool) -> None:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}

    assert is_passing(ClientError(answer, "Call")) is passing


def test_a_call_that_can_never_work_is_not_repeated() -> None:
    with pytest.raises(TargetFailed) as failed, explained("sqs"):
        raise NoRegionError
    assert not failed.value.retryable


def test_it_says_how_long_it_takes_to_stop() -> None:
    target = stepfunctions.StepFunctionsTarget(Clients())

    assert target.patience(StepFunctionsSpec("arn")) < target.patience(
        StepFunctionsSpec("arn", wait=True)
    )


def _machine() -> str:
    definition = {"StartAt": "S", "States": {"S": {"Type": "Succeed"}}}
    made = client("stepfunctions").create_state_machine(
        name=named(), definition=json.dumps(definition), roleArn=ROLE
    )
    return str(made["stateMachineArn"])


def _route(source: str, url: str) -> None:
    events = client("events")
    events.put_rule(Name=source, EventPattern=json.dumps({"source": [source]}))
    events.put_targets(Rule=source, Targets=[{"Id": "q", "Arn": arn_of(url)}])
