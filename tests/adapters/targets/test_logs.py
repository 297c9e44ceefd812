"""Whole logs: one behaviour over a folder and S3, and what each does when it fails."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from moto import mock_aws

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.logs.s3 import PART_BYTES, S3Logs
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.domain.ids import run_id
from lamplighter.ports.logs import LogName, Logs, LogsUnavailable

FIRE = datetime(2026, 11, 16, 6, 30, tzinfo=UTC)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with mock_aws():
        client: Any = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="logs-bucket")
        yield client


@pytest.fixture(params=["folder", "s3"])
def logs(request: pytest.FixtureRequest, tmp_path: Path) -> Logs:
    if request.param == "folder":
        return FolderLogs(tmp_path)
    request.getfixturevalue("bucket")
    return S3Logs("logs-bucket", Clients("us-east-1"))


def name(fence: int = 1, tenant: str = "acme") -> LogName:
    return LogName(tenant, run_id(uuid4(), FIRE, "default"), fence)


def test_a_log_is_read_as_it_was_written(logs: Logs) -> None:
    log = name(tenant="acme & söhne")
    writer = logs.open(log)
    writer.write(b"one\n")
    writer.write(b"\xff\x00two")

    url = writer.close()

    assert url == logs.url(log)
    assert logs.read(url) == b"one\n\xff\x00two"
    assert logs.read(url, offset=4, limit=3) == b"\xff\x00t"
    assert logs.read(url, offset=100) == b""


def test_a_long_log_is_whole(logs: Logs) -> None:
    writer, piece = logs.open(name()), b"0123456789abcdef" * 65_536
    for _ in range(12):
        writer.write(piece)
    writer.write(b"end")

    url = writer.close()

    assert logs.read(url, offset=12 * len(piece) - 2) == b"efend"
    assert logs.read(url, offset=PART_BYTES - 1, limit=2) == b"f0"


def test_each_claim_has_a_log_of_its_own(logs: Logs) -> None:
    run = name()
    urls = []
    for fence in (1, 2):
        writer = logs.open(LogName(run.tenant, run.run_id, fence))
        writer.write(b"%d" % fence)
        urls.append(writer.close())

    assert [logs.read(url) for url in urls] == [b"1", b"2"]


def test_a_discarded_log_leaves_nothing(logs: Logs, tmp_path: Path) -> None:
    writer = logs.open(name())
    writer.write(b"x" * (PART_BYTES + 1))
    writer.discard()
    writer.discard()

    assert list(tmp_path.rglob("*.log")) == []


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "s3://other/logs/x", "https://example.org", "", "s3://logs-bucket/y"],
)
def test_nothing_but_a_log_can_be_read(logs: Logs, url: str) -> None:
    with pytest.raises(LogsUnavailable):
        logs.read(url)


def test_a_log_that_is_not_there_is_said_so(logs: Logs) -> None:
    writer = logs.open(name())
    writer.write(b"x")
    url = writer.close()

    with pytest.raises(LogsUnavailable):
        logs.read(url.replace("1.log", "2.log"))


def test_no_tenants_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    logs = FolderLogs(tmp_path / "inside")
    writer = logs.open(name(tenant="../../out"))
    writer.write(b"x")
    writer.close()

    assert [path.name for path in tmp_path.iterdir()] == ["inside"]


def test_a_key_begins_with_the_day_of_the_fire() -> None:
    assert name().key.startswith("2026-11-16/acme/")


def test_a_folder_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(LogsUnavailable, match="cannot write"):
        FolderLogs(tmp_path / "file").open(name())


def test_a_bucket_that_is_gone_is_said_so(bucket: Any) -> None:
    writer = S3Logs("no-such-bucket", Clients("us-east-1")).open(name())
    writer.write(b"x")

    with pytest.raises(LogsUnavailable, match="S3 did not take a log"):
        writer.close()
    with pytest.raises(LogsUnavailable):
        writer.write(b"x" * (PART_BYTES + 1))
    writer.discard()
    assert bucket.list_objects_v2(Bucket="logs-bucket")["KeyCount"] == 0
