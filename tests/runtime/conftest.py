"""Functions as Lambda runs them, for tests that ask for one."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from infra.aws.disk import Disk, Machine
from tests.runtime import sam
from tests.runtime.emulated import Emulated

Start = Callable[..., Emulated]


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as made:
        yield Machine(Path(made))


@pytest.fixture(scope="module")
def start(machine: Machine) -> Iterator[Start]:
    """Starts a function; all of them end with the module."""
    started: list[Emulated] = []
    program = sam.emulator()
    assert program
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as logs:

        def one(
            function: str,
            settings: Mapping[str, str] | None = None,
            *,
            disk: Disk | None = None,
            seconds: int = 900,
        ) -> Emulated:
            log = Path(logs) / f"{uuid4()}.log"
            place = disk or machine.disk(function)
            started.append(
                Emulated(program, function, place, settings or {}, seconds=seconds, log=log)
            )
            return started[-1]

        yield one
        for each in started:
            each.close()
            print(f"--- {each.function}\n{each.log()}")  # noqa: T201 - shown where a test failed
