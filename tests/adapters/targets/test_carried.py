"""What is for SNS leaves with the courier: signed here, taken there, read here again."""

import json
from collections.abc import Iterator
from uuid import UUID

import msgspec
import pytest
from botocore.credentials import Credentials

from lamplighter import wiring
from lamplighter.adapters.alerts.sns import SnsAlerts
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.ports.alerts import Alert, AlertFailed
from lamplighter.ports.target import HttpRequest, HttpResponse
from lamplighter.wiring import around
from tests.adapters.alerts.test_alerts import ALERT, SEND
from tests.adapters.targets.couriering import Courier, a_courier
from tests.adapters.targets.signed_sns import REGION, Sns, a_signed_sns

TOPIC = f"arn:aws:sns:{REGION}:123456789012:alerts"


@pytest.fixture
def courier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Courier]:
    with a_courier(monkeypatch) as made:
        yield made


@pytest.fixture
def sns(courier: Courier, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sns]:
    """With a session's token, as functions have."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "session")
    with a_signed_sns(Credentials("testing", "testing", "session")) as made:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SNS", made.url)
        yield made


@pytest.fixture
def alerts(courier: Courier, sns: Sns) -> SnsAlerts:
    clients = Clients(REGION)
    clients.carry("sns", courier.sender.send_alone)
    return SnsAlerts(TOPIC, clients)


def _other() -> Alert:
    return msgspec.structs.replace(ALERT, run_id=UUID(int=9), error="größer als 3 & so")


def test_an_alert_arrives_as_it_was_signed_and_by_courier_alone(
    alerts: SnsAlerts, courier: Courier, sns: Sns
) -> None:
    alerts.send(_other())

    [published] = sns.published
    assert published["TopicArn"] == TOPIC
    assert json.loads(published["Message"])["run_id"] == str(UUID(int=9))
    [carried] = [json.loads(each)["requests"] for each in courier.payloads]
    assert [each["url"] for each in carried] == [sns.url]
    # What it is signed with stays at home.
    assert b"secret" not in courier.payloads[0].lower()


def test_what_sns_refuses_is_said_in_its_words(alerts: SnsAlerts, sns: Sns) -> None:
    sns.refuse = "AuthorizationError"

    with pytest.raises(AlertFailed, match="AuthorizationError") as failed:
        alerts.send(ALERT)

    assert not failed.value.retryable


def test_a_courier_that_fails_may_be_tried_again(alerts: SnsAlerts, courier: Courier) -> None:
    courier.answer = lambda _: (200, {"X-Amz-Function-Error": "Unhandled"}, b"{}")

    with pytest.raises(AlertFailed, match="courier gave no answer") as failed:
        alerts.send(ALERT)

    assert failed.value.retryable
    assert len(courier.payloads) == 1


def test_a_header_that_is_changed_on_the_way_is_noticed(sns: Sns) -> None:
    """Else the stand-in would prove nothing."""

    def spoil(request: HttpRequest) -> HttpResponse:
        changed = request.headers | {"X-Amz-Date": "20300101T000000Z"}
        return SEND(msgspec.structs.replace(request, headers=changed))

    clients = Clients(REGION)
    clients.carry("sns", spoil)
    with pytest.raises(AlertFailed, match="SignatureDoesNotMatch"):
        SnsAlerts(TOPIC, clients).send(ALERT)
    assert sns.published == []


def test_where_there_is_a_courier_it_has_all_that_is_for_sns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_REGION", REGION)
    heard = {}
    for function in (None, "courier"):
        if function:
            monkeypatch.setenv("LAMPLIGHTER_COURIER_FUNCTION", function)
        wiring.forget()
        heard[function] = set(around.clients()._carried)
    wiring.forget()

    assert heard == {None: set(), "courier": {"sns"}}
