"""What Lambda answers when a function raises, hangs, or comes in a zip with something missing."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.aws.disk import Disk, Machine
from tests.runtime import sam
from tests.runtime.conftest import Start, starting
from tests.runtime.emulated import FunctionFailed

pytestmark = pytest.mark.xdist_group("runtime-failing")

EVENTS = Path(__file__).parents[2] / "events"


@pytest.fixture(scope="module", params=["emulator", "stand-in"])
def start(request: pytest.FixtureRequest, machine: Machine) -> Iterator[Start]:
    """Both ways, so that one can stand in for the other."""
    program = sam.emulator()
    if request.param == "emulator" and program is None:
        pytest.skip("there is no emulator for this machine, or no wheel to take it from")
    with starting(machine, program if request.param == "emulator" else None) as start:
        yield start


def event(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture
def deaf_database() -> Iterator[str]:
    """Takes a connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"postgresql://nobody@127.0.0.1:{server.getsockname()[1]}/nothing"


def test_an_error_comes_back_as_lambdas_json(start: Start) -> None:
    resolver = start("resolver")

    with pytest.raises(FunctionFailed) as failed:
        resolver.invoke(event("resolver"))

    assert failed.value.kind == "InvalidSettings"
    assert "LAMPLIGHTER_DATABASE_URL is not set" in failed.value.message
    assert any("functions/resolver/handler.py" in line for line in failed.value.told["stackTrace"])


def test_a_call_that_takes_too_long_is_killed_and_the_next_one_starts_afresh(
    start: Start, deaf_database: str
) -> None:
    settings = {
        "LAMPLIGHTER_DATABASE_URL": deaf_database,
        "LAMPLIGHTER_VALKEY_URL": "valkey://127.0.0.1:1",
    }
    migrate = start("migrate", settings, seconds=2)

    for _ in range(2):
        with pytest.raises(FunctionFailed) as failed:
            migrate.invoke(event("migrate"))

        assert "Task timed out after 2.00 seconds" in failed.value.message
    assert migrate.starts() == 2


def _without_handler(disk: Disk) -> None:
    (disk.task / "functions" / "query" / "handler.py").unlink()


def _without_a_module(disk: Disk) -> None:
    (disk.core / "python" / "lamplighter" / "domain" / "ids.py").unlink()


def _without_a_package(disk: Disk) -> None:
    (disk.dependencies / "python" / "msgspec").unlink()


@pytest.mark.parametrize("lose", [_without_handler, _without_a_module, _without_a_package])
def test_a_zip_with_something_missing_does_not_start(
    machine: Machine, start: Start, tmp_path: Path, lose: Any
) -> None:
    disk = machine.disk("query").copy(tmp_path)
    lose(disk)

    with pytest.raises(FunctionFailed) as failed:
        start("query", disk=disk).invoke(event("query"))

    assert failed.value.kind == "Runtime.ImportModuleError"


def test_a_layer_without_its_sql_breaks_at_the_first_call(
    machine: Machine, start: Start, tmp_path: Path, deaf_database: str
) -> None:
    disk = machine.disk("resolver").copy(tmp_path)
    shutil.rmtree(disk.core / "python" / "lamplighter" / "adapters" / "postgres" / "sql")

    with pytest.raises(FunctionFailed, match="sql"):
        start("resolver", {"LAMPLIGHTER_DATABASE_URL": deaf_database}, disk=disk).invoke(
            event("resolver")
        )
