"""With IAM, connections take tokens for this region, wherever they are made."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws
from psycopg.conninfo import conninfo_to_dict

from lamplighter import wiring
from lamplighter.adapters.kafka import bus as kafka
from lamplighter.adapters.postgres.address import resolved
from lamplighter.settings import InvalidSettings
from lamplighter.wiring import around

URL = "postgresql://lamplighter@cell.example:5432/ledger"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", URL)
    monkeypatch.setenv("LAMPLIGHTER_BUS", "kafka")
    monkeypatch.setenv("LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS", "b-1.example:9098")
    wiring.forget()
    yield monkeypatch
    wiring.forget()


def test_a_database_with_iam_is_reached_with_a_token_of_this_region(
    environment: pytest.MonkeyPatch,
) -> None:
    assert wiring.database() == URL

    environment.setenv("LAMPLIGHTER_DATABASE_IAM", "true")
    wiring.forget()
    made = conninfo_to_dict(resolved(wiring.database()))

    token = str(made["password"])
    assert token.startswith("cell.example:5432/?Action=connect&DBUser=lamplighter")
    assert "%2Feu-west-1%2Frds-db%2F" in token
    assert made["sslmode"] == "verify-full"


def test_kafka_with_iam_is_reached_with_tokens(environment: pytest.MonkeyPatch) -> None:
    configs: list[dict[str, Any]] = []
    environment.setattr(kafka, "Producer", configs.append)
    wiring.bus()
    environment.setenv("LAMPLIGHTER_KAFKA_IAM", "true")
    wiring.forget()
    wiring.bus()

    plain, guarded = configs
    assert "oauth_cb" not in plain
    assert guarded["security.protocol"] == "SASL_SSL"
    assert guarded["oauth_cb"]("")[0]


def test_without_a_region_nobody_signs(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("AWS_REGION")
    environment.setenv("LAMPLIGHTER_DATABASE_IAM", "true")

    with pytest.raises(InvalidSettings, match="AWS_REGION is not set"):
        wiring.database()


def test_calls_go_to_this_region_without_boto3s_own_variable(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.delenv("AWS_DEFAULT_REGION", raising=False)
    environment.setenv("AWS_CONFIG_FILE", "/dev/null")

    assert around.clients().get("sns").meta.region_name == "eu-west-1"
    assert around.clients().get("sns", "eu-north-1").meta.region_name == "eu-north-1"


@mock_aws
def test_a_cells_secrets_are_under_its_own_prefix(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    environment.setenv("LAMPLIGHTER_SECRETS", "aws")
    environment.setenv("LAMPLIGHTER_SECRETS_PREFIX", "lamplighter-second")
    wiring.forget()
    store = boto3.client("secretsmanager", region_name="eu-west-1")
    for cell in ("lamplighter", "lamplighter-second"):
        store.create_secret(Name=f"{cell}/acme/token", SecretString=f"of {cell}")

    assert wiring.secrets().resolve("acme", "token") == "of lamplighter-second"
