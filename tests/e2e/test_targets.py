"""Targets as a running stack calls them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.targets.receiver import Receiver
from tests.e2e.aws import aws_at, client
from tests.e2e.signing import signature
from tests.e2e.stack import Stack

pytestmark = pytest.mark.usefixtures("checked")


def test_a_webhook_is_signed_and_names_run_and_fence(stack: Stack, receiver: Receiver) -> None:
    target = {"type": "http", "url": receiver.url("json"), "headers": {"x-of": "mine"}}

    [run] = stack.ended(stack.submit(target=target, payload={"order": 17}))

    [got] = [each for each in receiver.received if run["run_id"] in str(each.headers)]
    assert run["result"] == {"status": 200, "body": {"taken": [1, 2]}}
    assert (got.method, json.loads(got.body)) == ("POST", {"order": 17})
    assert got.headers["lamplighter-run-id"] == got.headers["idempotency-key"] == run["run_id"]
    assert (got.headers["lamplighter-fence"], got.headers["x-of"]) == ("1", "mine")
    assert got.headers["webhook-signature"] == signature(got.headers, got.body)


def test_a_webhook_that_is_refused_is_final_and_one_that_is_busy_is_not(
    stack: Stack, receiver: Receiver
) -> None:
    again = {"max_retries": 1, "backoff": {"base_seconds": 0.01}}
    refused, busy = (
        stack.submit(target={"type": "http", "url": receiver.url(path)}, **again)
        for path in ("404", "busy")
    )

    assert stack.ended(refused)[0]["attempt_number"] == 1
    assert stack.ended(busy)[0]["attempt_number"] == 2


def test_a_python_handler_gets_its_payload_and_gives_its_result(stack: Stack) -> None:
    target = {"type": "python", "handler": "builtin.echo"}

    [run] = stack.ended(stack.submit(target=target, payload=["é", {"deep": None}]))

    assert run["result"] == ["é", {"deep": None}]


def test_a_job_without_a_target_is_echoed(stack: Stack) -> None:
    [run] = stack.ended(stack.submit(payload={"hello": "lamp"}))

    assert (run["status"], run["result"]) == ("SUCCESS", {"hello": "lamp"})


def test_a_command_has_its_payload_its_environment_and_its_exit_code(stack: Stack) -> None:
    command = 'cat; echo " $KIND $LAMPLIGHTER_ATTEMPT $LAMPLIGHTER_RUN_ID"; exit 3'
    target = {"type": "command", "command": command, "env": {"KIND": "nightly"}}

    [run] = stack.ended(stack.submit(target=target, payload={"a": 1}, max_retries=0))

    assert run["stdout"] == f'{{"a":1}} nightly 1 {run["run_id"]}\n'
    assert (run["status"], run["pool"]) == ("FAILED", "tasks")
    assert "3" in run["error_message"]


def test_a_kind_of_target_that_does_not_exist_is_refused(stack: Stack) -> None:
    refused = stack.ask("POST", "/jobs", {"name": "a job", "target": {"type": "ftp"}})

    assert refused.status == 422
    assert refused.body["error"]["field"].startswith("target")


def test_a_handler_that_nobody_has_registered_fails_at_once(stack: Stack) -> None:
    [run] = stack.ended(stack.submit(target={"type": "python", "handler": "nobody.knows"}))

    assert (run["status"], run["attempt_number"]) == ("FAILED", 1)
    assert "nobody.knows" in run["error_message"]


@pytest.fixture
def sqs(aws_port: int) -> Iterator[Any]:
    with aws_at(aws_port):
        yield client("sqs")


def test_a_message_is_sent_to_sqs(stack: Stack, sqs: Any) -> None:
    queue = sqs.create_queue(QueueName=f"orders-{stack.bus}")["QueueUrl"]

    [run] = stack.ended(stack.submit(target={"type": "sqs", "queue_url": queue}, payload={"n": 1}))

    assert run["status"] == "SUCCESS", run
    [message] = sqs.receive_message(QueueUrl=queue, MessageAttributeNames=["All"])["Messages"]
    assert json.loads(message["Body"]) == {"n": 1}
    assert message["MessageAttributes"]["run_id"]["StringValue"] == run["run_id"]
