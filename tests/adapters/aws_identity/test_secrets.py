"""Settings that say where a secret is, instead of what it is."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lamplighter import wiring
from lamplighter.adapters.alerts.all import all_ways
from lamplighter.adapters.aws_identity.secrets import KeptSecrets
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.http.signing import sign
from lamplighter.adapters.targets.http.target import HttpTarget
from lamplighter.domain.target import HttpSpec
from lamplighter.ports.alerts import AlertFailed
from lamplighter.ports.secrets import told
from lamplighter.ports.target import HttpRequest, HttpResponse, SecretUnavailable
from lamplighter.settings import load
from tests.adapters.alerts.test_alerts import ALERT

VALUE = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    wiring.forget()
    with mock_aws():
        yield boto3.client("secretsmanager", region_name="us-east-1")
    wiring.forget()


def test_a_plain_value_stays_what_it_is() -> None:
    assert wiring.held("hush") == told("hush") == "hush"


def test_a_reference_is_followed_when_it_is_needed_and_not_before(manager: Any) -> None:
    held = wiring.held("secret:lamplighter/signing")
    manager.create_secret(Name="lamplighter/signing", SecretString=VALUE)

    assert told(held) == VALUE

    manager.delete_secret(SecretId="lamplighter/signing", ForceDeleteWithoutRecovery=True)
    assert told(held) == VALUE  # kept for a while


def test_an_arn_is_asked_for_in_its_own_region(manager: Any) -> None:
    other = boto3.client("secretsmanager", region_name="eu-west-1")
    arn = other.create_secret(Name="elsewhere", SecretString="far")["ARN"]

    assert KeptSecrets(Clients("us-east-1")).value(arn) == "far"


def test_a_missing_one_is_said_so_and_asked_for_again(manager: Any) -> None:
    held = wiring.held("secret:later")

    with pytest.raises(SecretUnavailable, match="'later': ResourceNotFoundException"):
        told(held)

    manager.create_secret(Name="later", SecretString="here")
    assert told(held) == "here"


def test_webhooks_are_signed_and_alerts_sent_with_what_is_kept_elsewhere(
    manager: Any, caplog: pytest.LogCaptureFixture
) -> None:
    values = {"key": "R0UT1NG", "url": "https://hooks.example/T0", "sign": VALUE}
    for name, value in values.items():
        manager.create_secret(Name=name, SecretString=value)
    settings = load(
        {
            "LAMPLIGHTER_PAGERDUTY_ROUTING_KEY": "secret:key",
            "LAMPLIGHTER_ALERT_WEBHOOK_URL": "secret:url",
            "LAMPLIGHTER_ALERT_WEBHOOK_SECRET": "secret:sign",
            "LAMPLIGHTER_WEBHOOK_SECRET": "secret:sign",
        }
    )
    sent: list[HttpRequest] = []

    def send(request: HttpRequest) -> HttpResponse:
        sent.append(request)
        return HttpResponse(202, {}, b"")

    with caplog.at_level(logging.DEBUG):
        for way in all_ways(settings, Clients, send, wiring.held):
            way.send(ALERT)

    pager, hook = sent
    assert json.loads(pager.body)["routing_key"] == values["key"]
    assert hook.url == values["url"]
    stamp, name = int(hook.headers["webhook-timestamp"]), hook.headers["webhook-id"]
    assert hook.headers["webhook-signature"] == f"v1,{sign(VALUE, name, stamp, hook.body)}"
    assert not any(value in caplog.text + repr(settings) for value in values.values())


def test_an_http_target_signs_with_what_is_kept_elsewhere(manager: Any) -> None:
    manager.create_secret(Name="sign", SecretString=VALUE)
    target: Any = HttpTarget(object(), wiring.held("secret:sign"))  # type: ignore[arg-type]

    assert target._secret(HttpSpec(url="https://a.example"), None) == VALUE


def test_an_alert_waits_for_a_secret_and_not_for_a_wrong_one(manager: Any) -> None:
    manager.create_secret(Name="url", SecretString="ftp://nowhere")
    settings = load({"LAMPLIGHTER_ALERT_WEBHOOK_URL": "secret:url"})
    missing = load({"LAMPLIGHTER_PAGERDUTY_ROUTING_KEY": "secret:missing"})

    for given in (settings, missing):
        [way] = all_ways(given, Clients, _never, wiring.held)
        with pytest.raises(AlertFailed) as failed:
            way.send(ALERT)
        assert not failed.value.retryable
        assert "ftp" not in str(failed.value)


def _never(request: HttpRequest) -> HttpResponse:
    raise AssertionError(request)
