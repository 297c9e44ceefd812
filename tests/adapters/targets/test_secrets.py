"""Secrets: by tenant, fresh enough, and never said aloud."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.aws_identity.secrets import KEPT_SECONDS, KeptSecrets
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.secrets import FolderSecrets, ManagedSecrets
from lamplighter.ports.target import SecretUnavailable


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        yield boto3.client("secretsmanager", region_name="us-east-1")


def test_a_file_is_a_secret_of_its_tenant_alone(tmp_path: Path) -> None:
    for tenant, value in [("acme", "hush\n"), ("other", "theirs")]:
        (tmp_path / tenant).mkdir()
        (tmp_path / tenant / "token").write_text(value)
    kept = FolderSecrets(tmp_path)

    assert kept.resolve("acme", "token") == "hush"
    for tenant, name in [("third", "token"), ("acme", "../other/token"), ("acme", "..")]:
        with pytest.raises(SecretUnavailable) as missing:
            kept.resolve(tenant, name)
        assert not missing.value.retryable


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in" / "acme").mkdir(parents=True)
    (tmp_path / "outside").write_text("hush")
    (tmp_path / "in" / "acme" / "token").symlink_to(tmp_path / "outside")

    with pytest.raises(SecretUnavailable):
        FolderSecrets(tmp_path / "in").resolve("acme", "token")


def test_a_managed_secret_is_fetched_once_in_a_while(manager: Any) -> None:
    manager.create_secret(Name="lamplighter/acme/token", SecretString="one")
    clock = [0.0]
    kept = ManagedSecrets(KeptSecrets(Clients("us-east-1"), lambda: clock[0]), "lamplighter")

    assert kept.resolve("acme", "token") == "one"
    manager.put_secret_value(SecretId="lamplighter/acme/token", SecretString="two")
    assert kept.resolve("acme", "token") == "one"
    clock[0] = KEPT_SECONDS
    assert kept.resolve("acme", "token") == "two"


def test_a_managed_secret_that_is_missing_or_binary_is_said_so(manager: Any) -> None:
    manager.create_secret(Name="lamplighter/acme/binary", SecretBinary=b"\x00")
    kept = ManagedSecrets(KeptSecrets(Clients("us-east-1")), "lamplighter")

    with pytest.raises(SecretUnavailable, match="ResourceNotFoundException"):
        kept.resolve("acme", "missing")
    with pytest.raises(SecretUnavailable, match="is binary; store text"):
        kept.resolve("acme", "binary")
