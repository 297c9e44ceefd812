"""`lamplighter ps` over folders in which something runs, ran, or never did."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from infra.local.command_ps import ps
from infra.local.folder import FolderLock
from infra.local.state import ComponentState, ServiceState, StackState, write_state

NOW = datetime.now(UTC)
SERVICES = [
    ServiceState("postgres", "postgresql://me:secret@127.0.0.1:5432/lamplighter", os.getpid()),
    ServiceState("kafka", "broker:9092", None, given=True),
    ServiceState("valkey", "redis://127.0.0.1:6379/0", None),
]
# No process has this number: the largest that Linux gives is four million.
NOBODY = 2**22 + 1


def _write(folder: Path, pid: int) -> None:
    components = [
        ComponentState("gateway", os.getpid(), 0, NOW),
        ComponentState("worker-1", None, 3, NOW),
        ComponentState("recorder", NOBODY, 0, NOW),
    ]
    write_state(folder, StackState("http://127.0.0.1:8080", pid, components, SERVICES))


@pytest.fixture
def stack(folder: Path) -> Iterator[Path]:
    lock = FolderLock(folder, wait_seconds=0)
    lock.take()
    _write(folder, os.getpid())
    yield folder
    lock.release()


def _ps(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(ps, ["--data", str(folder), *options])


def test_people_see_a_line_each_and_no_password(stack: Path) -> None:
    shown = _ps(stack)

    assert shown.exit_code == 0
    lines = [" ".join(line.split()) for line in shown.output.splitlines()]
    assert lines[0] == f"http://127.0.0.1:8080 (process {os.getpid()})"
    assert lines[1].startswith(f"gateway process {os.getpid()} for ")
    assert lines[2].startswith("worker-1 down for ")
    assert lines[2].endswith(", restarted 3x")
    assert lines[3].startswith("recorder down")
    assert lines[4].endswith("postgresql://me@127.0.0.1:5432/lamplighter")
    assert lines[5] == "kafka given broker:9092"
    assert lines[6] == "valkey down redis://127.0.0.1:6379/0"
    assert "secret" not in shown.output


def test_programs_get_everything(stack: Path) -> None:
    told = json.loads(_ps(stack, "--json").output)

    assert told["running"] is True
    assert told["url"] == "http://127.0.0.1:8080"
    assert [each["name"] for each in told["components"]] == ["gateway", "worker-1", "recorder"]
    assert told["services"][0] == {
        "name": "postgres", "url": SERVICES[0].url, "pid": os.getpid(), "given": False
    }  # fmt: skip
    assert [each["given"] for each in told["services"]] == [False, True, False]


@pytest.mark.parametrize("owner", [NOBODY, os.getpid()], ids=["dead", "another's number"])
def test_what_a_killed_one_left_behind_is_not_running(owner: int, folder: Path) -> None:
    (folder / "lock").touch()
    _write(folder, owner)

    shown = _ps(folder)

    assert shown.exit_code == 1
    assert f"not running: nothing uses {folder}" in shown.output
    assert "lamplighter up --data" in shown.output


def test_one_that_was_killed_and_whose_children_still_stop_is_not_running(stack: Path) -> None:
    _write(stack, NOBODY)

    assert _ps(stack).exit_code == 1


def test_a_folder_that_never_was_is_told_to_programs_too(tmp_path: Path) -> None:
    shown = CliRunner().invoke(ps, ["--data", str(tmp_path / "none"), "--json"])

    assert shown.exit_code == 1
    assert json.loads(shown.stdout) == {"running": False, "components": [], "services": []}
    assert "not running" in shown.stderr


def test_the_folder_of_the_settings_is_the_default(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(stack))
    assert CliRunner().invoke(ps).exit_code == 0

    monkeypatch.setenv("LAMPLIGHTER_DATE_DIR", "x")
    assert "Did you mean" in CliRunner().invoke(ps).output
