"""`lamplighter up`, as a person types it: another process, real signals."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from tests.infra.local.waiting import wait_until

PROGRAM = Path(sys.executable).with_name("lamplighter")
START_SECONDS = 120


class Up:
    """A running `lamplighter up` and what it has said so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path) -> None:
        self.process = process
        self._output = output

    @property
    def said(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        def there() -> bool:
            return text in self.said or self.process.poll() is not None

        wait_until(there, text, START_SECONDS)
        assert text in self.said, self.said

    def ends(self) -> int:
        return self.process.wait(START_SECONDS)

    def ports(self) -> dict[str, int]:
        found = re.findall(r"^  (\w+) +ready.*?:(\d+)\b", self.said, re.MULTILINE)
        return {name: int(port) for name, port in found}


@contextmanager
def _up(folder: Path, *options: str, **variables: str) -> Iterator[Up]:
    output = folder / "said"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [PROGRAM, "up", *options],
            cwd=folder, env={**os.environ, **variables}, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        yield Up(process, output)
    finally:
        # Whatever the test found, its services end with their starter.
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _processes_in(folder: Path) -> list[str]:
    listing = subprocess.check_output(["ps", "-ww", "-eo", "pid,args"], text=True)
    return [line for line in listing.splitlines() if f"{folder}/" in line]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_starts_migrates_and_stops_everything(number: signal.Signals, folder: Path) -> None:
    with _up(folder) as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()
        assert ports.keys() == {"postgres", "valkey"}
        assert all(map(_listens, ports.values()))
        assert re.search(
            r"^  ledger +ready in +\d+\.\d s +[1-9]\d* migrations? applied", up.said, re.MULTILINE
        )

        up.process.send_signal(number)

        assert up.ends() == 0
        assert up.said.rstrip().endswith("Everything is stopped.")
        assert not any(map(_listens, ports.values()))
        assert _processes_in(folder) == []


def test_what_it_prints_has_no_password(folder: Path) -> None:
    with _up(folder) as up:
        up.wait_for("Lamplighter is up")
        for password in folder.glob(".lamplighter/*/password"):
            assert password.read_text(encoding="ascii") not in up.said
        assert len(list(folder.glob(".lamplighter/*/password"))) == 2
        assert (folder / ".lamplighter" / ".gitignore").read_text(encoding="ascii") == "*\n"


def test_data_are_there_the_next_time(folder: Path) -> None:
    for expected in (r"[1-9]\d* migrations?", "0 migrations"):
        with _up(folder, "--data", "elsewhere") as up:
            up.wait_for("Lamplighter is up")
            assert re.search(f"ledger .* {expected} applied", up.said)
            up.process.send_signal(signal.SIGINT)
            assert up.ends() == 0
    assert not (folder / ".lamplighter").exists()


def test_everything_ends_when_it_is_killed(folder: Path) -> None:
    with _up(folder) as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()

        up.process.kill()

        wait_until(lambda: not any(map(_listens, ports.values())), "closed ports")
        wait_until(lambda: not _processes_in(folder), "the end of every process")


def test_ctrl_c_in_the_middle_of_the_start_leaves_nothing(folder: Path) -> None:
    with _up(folder) as up:
        lock = folder / ".lamplighter" / "postgres" / "lock"
        wait_until(lambda: lock.exists() or up.process.poll() is not None, "the first service")

        up.process.send_signal(signal.SIGINT)

        assert up.ends() == 0, up.said
        assert "Lamplighter is up" not in up.said
        assert _processes_in(folder) == []


def test_a_given_url_is_used_and_its_server_left_alone(
    folder: Path, postgres_server: Postgres, valkey_server: Valkey
) -> None:
    database = postgres_server.ensure_database("given_to_up")
    given = {
        "LAMPLIGHTER_DATABASE_URL": database,
        "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
        "LAMPLIGHTER_BUS": "kafka",
        "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS": "broker:9092",
    }
    with _up(folder, **given) as up:
        up.wait_for("Lamplighter is up")
        assert re.search(r"postgres +given +postgresql://lamplighter@127.0.0.1:\d+/given", up.said)
        assert re.search(r"valkey +given +valkey://127.0.0.1:\d+/0", up.said)
        assert re.search(r"kafka +given +broker:9092", up.said)
        assert re.search(r"ledger .* [1-9]\d* migrations? applied", up.said)
        up.process.send_signal(signal.SIGINT)
        assert up.ends() == 0

    assert not list(folder.glob(".lamplighter/*/"))
    assert postgres_server.ready()
    assert valkey_server.ready()


def test_a_misspelt_setting_stops_the_start(folder: Path) -> None:
    with _up(folder, LAMPLIGHTER_VALKY_URL="valkey://x") as up:
        assert up.ends() == 1
        assert "Did you mean LAMPLIGHTER_VALKEY_URL?" in up.said
        assert not (folder / ".lamplighter").exists()


def test_a_second_one_on_the_same_data_is_refused(folder: Path, tmp_path: Path) -> None:
    with _up(folder) as first:
        first.wait_for("Lamplighter is up")
        with _up(tmp_path, "--data", str(folder / ".lamplighter")) as second:
            assert second.ends() == 1
            assert f"in use by process {first.process.pid}" in second.said
        assert all(map(_listens, first.ports().values()))


def test_a_service_that_dies_is_reported_and_the_others_stop(folder: Path) -> None:
    with _up(folder) as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()
        pid = (folder / ".lamplighter/postgres/data/postmaster.pid").read_text().split()[0]

        os.kill(int(pid), signal.SIGKILL)

        assert up.ends() == 1
        assert "postgres has ended by itself" in up.said
        assert "The end of" in up.said
        assert not _listens(ports["valkey"])


@pytest.mark.kafka
def test_kafka_is_one_option_away(folder: Path) -> None:
    with _up(folder, "--bus", "kafka") as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()
        assert ports.keys() == {"postgres", "valkey", "kafka"}

        up.process.send_signal(signal.SIGINT)

        assert up.ends() == 0
        order = re.findall(r"^  (\w+) +stopped", up.said, re.MULTILINE)
        assert order == ["kafka", "valkey", "postgres"]
        assert not any(map(_listens, ports.values()))
