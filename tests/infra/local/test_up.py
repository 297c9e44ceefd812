"""`lamplighter up`, as a person types it: another process, real services, real signals."""

import os
import re
import signal
import socket
import stat
from pathlib import Path

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from tests.infra.local.upping import Up, listens, processes_in, running
from tests.infra.local.waiting import gone, wait_until

COMPONENTS = [
    "gateway", "watcher-1", "watcher-2", "executor-1", "worker-1", "recorder-1", "recorder-2",
    "resolver",
]  # fmt: skip


@pytest.fixture
def given(postgres_server: Postgres, valkey_server: Valkey) -> dict[str, str]:
    """Services that run already: most tests are about the components."""
    return {
        "LAMPLIGHTER_DATABASE_URL": postgres_server.ensure_database("given_to_up"),
        "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
    }


def test_it_starts_migrates_and_stops_everything(folder: Path) -> None:
    with running(folder) as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()
        assert ports.keys() == {"postgres", "valkey", "gateway"}
        assert all(map(listens, ports.values()))
        assert re.search(
            r"^  ledger +ready in +\d+\.\d s +[1-9]\d* migrations? applied", up.said, re.MULTILINE
        )
        for password in folder.glob(".lamplighter/*/password"):
            assert password.read_text(encoding="ascii") not in up.said
        assert len(list(folder.glob(".lamplighter/*/password"))) == 2
        assert (up.data / ".gitignore").read_text(encoding="ascii") == "*\n"

        up.process.send_signal(signal.SIGTERM)

        assert up.ends() == 0
        assert up.said.rstrip().endswith("Everything is stopped.")
        assert not any(map(listens, ports.values()))
        assert processes_in(folder) == []
        assert not (up.data / "stack.json").exists()
        order = re.findall(r"^  (\S+) +stopped", up.said, re.MULTILINE)
        assert order[-2:] == ["valkey", "postgres"]


def test_it_stops_who_takes_work_in_before_who_does_it(folder: Path, given: dict[str, str]) -> None:
    pools = {"LAMPLIGHTER_POOLS": "default=9,tasks=9,far=9"}
    with running(folder, "--workers", "2", told=given | pools) as up:
        up.wait_for("Lamplighter is up")
        up.process.send_signal(signal.SIGINT)
        assert up.ends() == 0

    order = re.findall(r"^  (\S+) +stopped", up.said, re.MULTILINE)
    assert order[:3] == ["gateway", "watcher-1", "watcher-2"]
    assert set(order[3:9]) == {
        "executor-1", "executor-2", "worker-1", "worker-2", "worker-far-1", "worker-far-2",
    }  # fmt: skip
    assert order[9:] == ["recorder-1", "recorder-2", "resolver"]


def test_components_are_told_what_the_stack_knows(folder: Path, given: dict[str, str]) -> None:
    with running(folder, "--bus", "streams", told=given | {"LAMPLIGHTER_PLACES": "7"}) as up:
        up.wait_for("Lamplighter is up")
        told = dict(
            line.split() for line in (up.data / "logs/worker-1.log").read_text().splitlines()
        )

    assert told == given | {
        "LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES": "true",
        "LAMPLIGHTER_DATA_DIR": str(up.data),
        "LAMPLIGHTER_LONGEST_SECONDS": "86400",
        "LAMPLIGHTER_PLACES": "7",
        "LAMPLIGHTER_POOL": "tasks",
    }


def test_its_state_is_a_private_file(folder: Path, given: dict[str, str]) -> None:
    with running(folder, told=given) as up:
        up.wait_for("Lamplighter is up")
        state = up.state

        assert state["url"] == f"http://127.0.0.1:{up.ports()['gateway']}"
        assert state["pid"] == up.process.pid
        assert [each["name"] for each in state["components"]] == COMPONENTS
        assert all(each["restarts"] == 0 and each["pid"] for each in state["components"])
        assert [each["url"] for each in state["services"]] == list(given.values())
        assert all(each["given"] and each["pid"] is None for each in state["services"])
        assert stat.S_IMODE((up.data / "stack.json").stat().st_mode) == 0o600


def test_ctrl_c_in_the_middle_of_the_start_leaves_nothing(folder: Path) -> None:
    with running(folder) as up:
        lock = up.data / "postgres" / "lock"
        wait_until(lambda: lock.exists() or up.process.poll() is not None, "the first service")

        up.process.send_signal(signal.SIGINT)

        assert up.ends() == 0, up.said
        assert "Lamplighter is up" not in up.said
        assert processes_in(folder) == []


def test_a_given_url_is_used_and_its_server_left_alone(
    folder: Path, postgres_server: Postgres, valkey_server: Valkey, given: dict[str, str]
) -> None:
    with running(folder, told=given) as up:
        up.wait_for("Lamplighter is up")
        assert re.search(r"postgres +given +postgresql://lamplighter@127.0.0.1:\d+/given", up.said)
        assert re.search(r"valkey +given +valkey://127.0.0.1:\d+/0", up.said)
        assert re.search(r"ledger .* \d+ migrations? applied", up.said)
        assert "\x1b" not in up.said
        up.process.send_signal(signal.SIGINT)
        assert up.ends() == 0

    assert [path.name for path in folder.glob(".lamplighter/*/")] == ["logs"]
    assert postgres_server.ready()
    assert valkey_server.ready()


def test_a_misspelt_setting_stops_the_start(folder: Path) -> None:
    with running(folder, told={"LAMPLIGHTER_VALKY_URL": "valkey://x"}) as up:
        assert up.ends() == 1
        assert "Did you mean LAMPLIGHTER_VALKEY_URL?" in up.said
        assert not up.data.exists()


def test_a_bus_that_no_machine_has_stops_the_start(folder: Path) -> None:
    with running(folder, told={"LAMPLIGHTER_BUS": "sqs"}) as up:
        assert up.ends() == 1
    assert "LAMPLIGHTER_BUS: sqs is for AWS. Here: streams or kafka." in up.said
    assert "postgres" not in up.said


def test_a_second_one_on_the_same_data_is_refused(
    folder: Path, tmp_path: Path, given: dict[str, str]
) -> None:
    with running(folder, told=given) as first:
        first.wait_for("Lamplighter is up")
        with running(tmp_path, "--data", str(first.data), told=given) as second:
            assert second.ends() == 1
            assert f"in use by process {first.process.pid}" in second.said
        assert all(map(listens, first.ports().values()))
        assert first.state["pid"] == first.process.pid


def test_a_port_that_is_taken_is_said_before_anything_starts(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(folder, "--port", str(port)) as up:
            assert up.ends() == 1

    assert f"Port {port} cannot be used: Address already in use" in up.said
    assert "--port 0" in up.said
    assert "postgres" not in up.said


def test_a_service_that_dies_is_started_again_where_it_was(
    folder: Path, given: dict[str, str]
) -> None:
    given.pop("LAMPLIGHTER_VALKEY_URL")
    with running(folder, told=given) as up:
        up.wait_for("Lamplighter is up")
        before = _kill(up, "valkey")

        up.wait_for("restarted once")

        assert re.search(r"^  valkey +killed by SIGKILL after", up.said, re.MULTILINE)
        wait_until(lambda: up.pid("valkey") not in (before, None), "its new process")
        assert listens(up.ports()["valkey"])


def test_a_component_that_dies_is_started_again(folder: Path, given: dict[str, str]) -> None:
    with running(folder, told=given) as up:
        up.wait_for("Lamplighter is up")
        before = _kill(up, "recorder-1")

        up.wait_for("restarted once")

        assert re.search(r"^  recorder-1 +killed by SIGKILL after", up.said, re.MULTILINE)
        wait_until(lambda: up.pid("recorder-1") not in (before, None), "its new process")
        [recorder] = [each for each in up.state["components"] if each["name"] == "recorder-1"]
        assert recorder["restarts"] == 1
        assert not gone(recorder["pid"])


def _kill(up: Up, name: str) -> int:
    pid = up.pid(name)
    assert pid
    os.kill(pid, signal.SIGKILL)
    return pid
