"""One suite for every service: whatever `infra.local` starts behaves like this."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.errors import ServiceFailed
from infra.local.service import HOST, PORTS, free_port, without_password
from tests.infra.local.kinds import KINDS, Kind
from tests.infra.local.waiting import gone, wait_until

NAMES = [pytest.param(name, marks=[pytest.mark.kafka] if name == "kafka" else []) for name in KINDS]


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def test_data_survive_a_stop_and_a_crash_on_the_same_port(kind: Kind, folder: Path) -> None:
    service = kind.make(folder)
    with service:
        first_pid, first_url = service.pid, service.url
        kind.write(service.url)

    assert gone(first_pid)
    assert not _listens(service.port)
    with service:
        assert service.url == first_url
        assert kind.read(service.url) == "lamp"
        second_pid = service.pid
        service.kill()
        assert gone(second_pid)
    with kind.make(folder) as another:
        assert kind.read(another.url) == "lamp"


def test_a_folder_in_use_is_refused_and_its_service_left_alone(kind: Kind, folder: Path) -> None:
    with kind.make(folder) as service:
        with pytest.raises(ServiceFailed, match=f"in use by process {os.getpid()}"):
            kind.make(folder).start()
        with pytest.raises(ServiceFailed, match="running already"):
            service.start()
        assert service.running()
        assert service.ready()


def test_a_service_that_cannot_start_shows_the_end_of_its_log(kind: Kind, folder: Path) -> None:
    broken = kind.make_broken(folder)

    with pytest.raises(ServiceFailed) as failed:
        broken.start()

    assert kind.complaint in str(failed.value)
    assert str(broken.log) in str(failed.value)
    assert not broken.running()
    with kind.make(folder) as repaired:
        assert repaired.ready()


@pytest.fixture
def starter(request: pytest.FixtureRequest, folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process that starts the service and then waits to be killed."""
    program = [sys.executable, "-m", "tests.infra.local.kinds", request.param, str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("starter", NAMES, indirect=True)
def test_a_service_ends_when_its_starter_is_killed(starter: "subprocess.Popen[str]") -> None:
    assert starter.stdout is not None
    pid, port = map(int, starter.stdout.readline().split())
    assert _listens(port)

    starter.send_signal(signal.SIGKILL)

    wait_until(lambda: gone(pid), f"the end of server {pid}")
    wait_until(lambda: not _listens(port), f"port {port} to be closed")


def test_a_new_start_waits_for_the_server_of_a_killed_starter(folder: Path) -> None:
    program = [sys.executable, "-m", "tests.infra.local.kinds", "postgres18", str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline().split()[0])
        process.kill()

    with KINDS["postgres18"].make(folder) as service:
        assert gone(pid)
        assert service.ready()


def test_a_given_port_is_used_and_a_taken_one_is_an_error(folder: Path) -> None:
    port = free_port()
    valkey = KINDS["valkey"].make(folder)
    valkey.port = port
    taken = socket.create_server((HOST, port))
    with taken, pytest.raises(ServiceFailed, match="already in use"):
        valkey.start()
    with valkey:
        assert valkey.port == port


def test_a_port_of_our_choice_that_is_taken_meanwhile_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server((HOST, 0)) as other:
        taken = other.getsockname()[1]
        free = free_port()
        ports = iter([taken, free])
        monkeypatch.setattr("infra.local.service.free_port", lambda: next(ports))
        with KINDS["valkey"].make(folder) as service:
            assert service.port == free


def test_a_free_port_is_free_and_none_that_the_system_gives_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken, free = free_port(), free_port()
    picks = iter(each - PORTS.start for each in (taken, taken, free))
    monkeypatch.setattr("infra.local.service.secrets.randbelow", lambda _: next(picks))

    with socket.create_server((HOST, taken)):
        assert free_port() == free

    assert {taken, free} <= set(PORTS)


def test_an_interrupted_start_fails_and_leaves_nothing(folder: Path) -> None:
    service = KINDS["valkey"].make(folder)
    # As if the other thread had been that quick: the flag is up when the process is launched.
    service.prepare = service.interrupt  # type: ignore[method-assign]

    with pytest.raises(ServiceFailed, match="stopped while it started"):
        service.start()

    assert not service.running()
    with KINDS["valkey"].make(folder) as next_one:
        assert next_one.ready()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:se@cret@host:1/db?x=1", "postgresql://me@host:1/db?x=1"),
        ("valkey://:secret@host:1/0", "valkey://host:1/0"),
        ("valkey://host:1/0", "valkey://host:1/0"),
    ],
)
def test_a_shown_url_has_no_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
