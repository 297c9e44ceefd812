"""Who is woken when a critical job fails, and by which ways: all that are set, each by itself."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.adapters.targets.receiver import Received, Receiver
from tests.e2e.aws import aws_at, client
from tests.e2e.conftest import ALERT_TOPIC, PAGERDUTY_KEY
from tests.e2e.signing import signature
from tests.e2e.stack import FAIL, Stack, instant, until

pytestmark = pytest.mark.usefixtures("checked")

BOOM = {"target": FAIL, "payload": {"message": "boom"}, "max_retries": 0, "name": "billing"}


def test_somebody_is_alerted_when_a_critical_job_fails_and_only_then(
    stack: Stack, receiver: Receiver
) -> None:
    usual = stack.submit(**BOOM)
    stack.ended(usual)
    critical = stack.submit(**BOOM, critical=True)
    [run] = stack.ended(critical)

    got = until(lambda: _posted(receiver, "/json", critical), "an alert")

    alert = json.loads(got.body)
    assert alert["type"] == "job.alert"
    assert alert["data"]["run_id"] == run["run_id"]
    assert (alert["data"]["status"], alert["summary"]) == ("FAILED", "billing failed: boom")
    assert got.headers["webhook-signature"] == signature(got.headers, got.body)
    assert _posted(receiver, "/json", usual) is None


def test_pagerduty_gets_an_event_of_version_2_and_one_for_a_run(
    stack: Stack, receiver: Receiver
) -> None:
    again = {"max_retries": 1, "backoff": {"base_seconds": 0.01}}
    job = stack.submit(**{**BOOM, **again}, critical=True)
    [run] = stack.ended(job)

    got = until(lambda: _posted(receiver, "/202", job), "an incident")

    event = json.loads(got.body)
    assert (event["routing_key"], event["event_action"]) == (PAGERDUTY_KEY, "trigger")
    assert event["dedup_key"] == f"{job}:{run['run_id']}"
    incident = event["payload"]
    assert (incident["summary"], incident["severity"]) == ("billing failed: boom", "critical")
    assert abs(instant(incident["timestamp"]) - instant(run["end_time"])) < timedelta(seconds=1)
    assert incident["custom_details"]["attempt"] == run["attempt_number"] == 2
    assert _count(receiver, "/202", job) == 1


def test_pagerduty_is_told_of_a_run_that_took_too_long(stack: Stack, receiver: Receiver) -> None:
    job = stack.submit(command="sleep 60", timeout_seconds=1, max_retries=0, critical=True)

    got = until(lambda: _posted(receiver, "/202", job), "an incident")

    assert json.loads(got.body)["payload"]["class"] == "TIMED_OUT"


@pytest.fixture
def queue(aws_port: int) -> Iterator[str]:
    """Gets whatever is published to the topic of alerts."""
    with aws_at(aws_port):
        sns, sqs = client("sns"), client("sqs")
        topic = sns.create_topic(Name=ALERT_TOPIC.rpartition(":")[2])["TopicArn"]
        assert topic == ALERT_TOPIC
        url = sqs.create_queue(QueueName="somebody")["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        endpoint = found["Attributes"]["QueueArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=endpoint)
        yield url


def test_a_topic_of_sns_gets_the_alert_and_what_to_filter_by(stack: Stack, queue: str) -> None:
    job = stack.submit(**BOOM, critical=True)
    [run] = stack.ended(job)

    [message] = until(lambda: _arrived(queue), "a message")

    alert = json.loads(message["Message"])
    assert (alert["job_id"], alert["run_id"], alert["error"]) == (job, run["run_id"], "boom")
    assert message["Subject"] == "Lamplighter: billing failed: boom"
    assert message["MessageAttributes"]["status"]["Value"] == "FAILED"


def _posted(receiver: Receiver, path: str, job_id: str) -> Received | None:
    found = [each for each in receiver.received if each.path == path]
    return next((each for each in found if job_id.encode() in each.body), None)


def _count(receiver: Receiver, path: str, job_id: str) -> int:
    found = [each for each in receiver.received if each.path == path]
    return sum(job_id.encode() in each.body for each in found)


def _arrived(queue: str) -> list[dict[str, Any]] | None:
    found = client("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [json.loads(each["Body"]) for each in found.get("Messages", [])] or None
