"""Alerts over real connections: what arrives, and what becomes of an answer that is no yes."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from moto import mock_aws

from lamplighter.adapters.alerts.all import all_ways
from lamplighter.adapters.alerts.pagerduty import PagerDutyAlerts
from lamplighter.adapters.alerts.sns import SnsAlerts
from lamplighter.adapters.alerts.webhook import WebhookAlerts
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.http.sending import DirectSender
from lamplighter.ports.alerts import Alert, AlertFailed
from lamplighter.settings import Settings
from tests.adapters.targets.receiver import Receiver, a_receiver

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ALERT = Alert(
    tenant="acme",
    job_id=UUID(int=1),
    job_name="nightly",
    run_id=UUID(int=2),
    status="FAILED",
    error="exit code 3",
    attempt=4,
    fire_at=NOON,
    ended_at=NOON,
)
SEND = DirectSender(allow_private=True).send_alone


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as made:
        yield made


def test_pagerduty_gets_an_event_that_it_understands(receiver: Receiver) -> None:
    PagerDutyAlerts(receiver.url("202"), "key", SEND).send(ALERT)

    [received] = receiver.received
    event = json.loads(received.body)
    assert received.headers["content-type"] == "application/json"
    assert (event["routing_key"], event["event_action"]) == ("key", "trigger")
    assert event["dedup_key"] == f"{ALERT.job_id}:{ALERT.run_id}"
    assert event["payload"]["summary"] == "nightly failed: exit code 3"
    assert event["payload"]["severity"] == "critical"
    assert event["payload"]["source"]
    assert event["payload"]["timestamp"] == "2030-01-01T12:00:00.000Z"
    assert event["payload"]["custom_details"]["run_id"] == str(ALERT.run_id)


def test_a_summary_is_no_longer_than_pagerduty_takes(receiver: Receiver) -> None:
    long = msgspec.structs.replace(ALERT, error="x" * 5000)
    PagerDutyAlerts(receiver.url("202"), "key", SEND).send(long)
    assert len(json.loads(receiver.received[0].body)["payload"]["summary"]) == 1024


@pytest.mark.parametrize(("answer", "retryable"), [("400", False), ("429", True), ("500", True)])
def test_an_answer_that_is_no_yes_is_a_failure(
    receiver: Receiver, answer: str, retryable: bool
) -> None:
    with pytest.raises(AlertFailed) as failed:
        PagerDutyAlerts(receiver.url(answer), "key", SEND).send(ALERT)
    assert failed.value.retryable is retryable
    assert "key" not in str(failed.value)


def test_a_webhook_is_signed_with_its_secret(receiver: Receiver) -> None:
    WebhookAlerts(receiver.url("200"), "s3cret", SEND, now=lambda: 1_900_000_000.0).send(ALERT)

    [received] = receiver.received
    signed = f"{ALERT.dedup_key}.1900000000.".encode() + received.body
    digest = hmac.new(b"s3cret", signed, hashlib.sha256).digest()
    assert received.headers["webhook-id"] == ALERT.dedup_key
    assert received.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    document = json.loads(received.body)
    assert document["data"]["job_name"] == "nightly"
    assert document["summary"] == "nightly failed: exit code 3"


def test_a_webhook_goes_where_webhooks_may_go(receiver: Receiver) -> None:
    guarded = DirectSender().send_alone
    with pytest.raises(AlertFailed) as failed:
        WebhookAlerts(receiver.url("200"), None, guarded).send(ALERT)
    assert (failed.value.retryable, receiver.received) == (False, [])


def test_a_receiver_that_hangs_up_may_be_tried_again(receiver: Receiver) -> None:
    with pytest.raises(AlertFailed) as failed:
        WebhookAlerts(receiver.url("hangup"), None, SEND).send(ALERT)
    assert failed.value.retryable


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clients]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "none")
    with mock_aws():
        yield Clients("eu-central-1")


def _subscribed(aws: Clients, name: str) -> tuple[str, str]:
    """A topic, and a queue that gets all of it."""
    sns, sqs = aws.get("sns"), aws.get("sqs")
    fifo = {"Attributes": {"FifoTopic": "true"}} if name.endswith(".fifo") else {}
    topic = sns.create_topic(Name=name, **fifo)["TopicArn"]
    fifo = {"Attributes": {"FifoQueue": "true"}} if name.endswith(".fifo") else {}
    queue = sqs.create_queue(QueueName=name, **fifo)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    endpoint = arn["Attributes"]["QueueArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=endpoint)
    return topic, queue


def _arrived(aws: Clients, queue: str) -> list[dict[str, Any]]:
    found = aws.get("sqs").receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [json.loads(each["Body"]) for each in found.get("Messages", [])]


def test_a_topic_gets_the_alert_and_what_to_filter_by(aws: Clients) -> None:
    topic, queue = _subscribed(aws, "alerts")

    SnsAlerts(topic, aws).send(msgspec.structs.replace(ALERT, error="größer\nals" + "x" * 200))

    [message] = _arrived(aws, queue)
    assert json.loads(message["Message"])["run_id"] == str(ALERT.run_id)
    assert message["MessageAttributes"]["status"]["Value"] == "FAILED"
    assert message["Subject"].startswith("Lamplighter: nightly failed: gr??er?als")
    assert len(message["Subject"]) == 100


def test_a_fifo_topic_drops_the_second_alert_of_a_run(aws: Clients) -> None:
    topic, queue = _subscribed(aws, "alerts.fifo")
    for _ in range(2):
        SnsAlerts(topic, aws).send(ALERT)
    assert len(_arrived(aws, queue)) == 1


def test_a_topic_that_is_not_there_is_a_failure_for_good(aws: Clients) -> None:
    with pytest.raises(AlertFailed) as failed:
        SnsAlerts("arn:aws:sns:eu-central-1:123456789012:nowhere", aws).send(ALERT)
    assert not failed.value.retryable


def test_the_ways_are_those_that_are_set() -> None:
    everything = Settings(
        alert_sns_topic="arn:aws:sns:eu-central-1:123456789012:t",
        pagerduty_routing_key="key",
        alert_webhook_url="https://example.com/alerts",
    )
    kinds = [type(way) for way in all_ways(everything, Clients, SEND)]
    assert kinds == [SnsAlerts, PagerDutyAlerts, WebhookAlerts]
    assert all_ways(Settings(), Clients, SEND) == []
