"""Where webhooks may go, judged by the address that is connected to."""

import socket
from pathlib import Path
from typing import Any

import pytest

from lamplighter.adapters.targets.http import addresses
from lamplighter.adapters.targets.http.addresses import is_allowed
from lamplighter.domain.run import Verdict
from tests.adapters.targets.running import a_runner, claim, run_one

PUBLIC = ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"]
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.7", "172.16.0.1", "192.168.1.1", "100.64.0.1", "::1",
    "192.0.0.192", "::10.0.0.7", "::ffff:0:a00:7", "64:ff9b:1::a00:7", "fec0::7",
    "fd12:3456::1", "::ffff:10.0.0.7", "::ffff:127.0.0.1", "64:ff9b::a00:7", "2002:a00:7::1",
]  # fmt: skip
NEVER = [
    "169.254.169.254", "169.254.170.2", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "224.0.0.1",
    "ff02::1", "0.0.0.0", "::",  # noqa: S104
    "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_open(address: str) -> None:
    assert is_allowed(address, allow_private=False)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_need_permission(address: str) -> None:
    assert not is_allowed(address, allow_private=False)
    assert is_allowed(address, allow_private=True)


@pytest.mark.parametrize("address", NEVER)
def test_credentials_of_the_machine_are_closed_whatever_is_allowed(address: str) -> None:
    assert not is_allowed(address, allow_private=False)
    assert not is_allowed(address, allow_private=True)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:7f00:1]"]
)
def test_no_spelling_of_loopback_gets_through(tmp_path: Path, host: str) -> None:
    outcome = run_one(a_runner(tmp_path), claim({"type": "http", "url": f"http://{host}:1/"}))

    assert (outcome.verdict, outcome.retryable) == (Verdict.FAILED, False)
    assert "where webhooks may not go" in (outcome.error or "")


def test_a_name_that_resolves_to_the_metadata_service_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _answering("169.254.169.254"))

    outcome = run_one(a_runner(tmp_path), claim({"type": "http", "url": "http://innocent.example"}))

    assert "innocent.example is 169.254.169.254" in (outcome.error or "")


def test_of_several_addresses_only_the_allowed_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", _answering("10.0.0.1", "8.8.8.8"))

    ways = addresses.resolve("both.example", 443, allow_private=False)

    assert ways == [(socket.AF_INET, "8.8.8.8")]


def _answering(*found: str) -> Any:
    return lambda *_, **__: [(socket.AF_INET, 1, 6, "", (address, 80)) for address in found]
