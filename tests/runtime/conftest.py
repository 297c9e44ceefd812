"""Functions as Lambda runs them, for tests that ask for one."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from infra.aws.disk import Disk, Machine
from tests.runtime import sam
from tests.runtime.emulated import Emulated
from tests.runtime.stand_in import StandIn

Running = Emulated | StandIn
Start = Callable[..., Running]


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as made:
        yield Machine(Path(made))


@pytest.fixture(scope="module")
def start(machine: Machine) -> Iterator[Start]:
    """Starts a function: under the emulator, or its stand-in where there is none."""
    with starting(machine, sam.emulator()) as start:
        yield start


@contextmanager
def starting(machine: Machine, program: Path | None) -> Iterator[Start]:
    """All of them end with it."""
    started: list[Running] = []
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as logs:

        def start(
            function: str,
            settings: Mapping[str, str] | None = None,
            *,
            disk: Disk | None = None,
            seconds: int = 900,
        ) -> Running:
            log = Path(logs) / f"{uuid4()}.log"
            what = (function, disk or machine.disk(function), settings or {})
            if program:
                started.append(Emulated(program, *what, seconds=seconds, log=log))
            else:
                started.append(StandIn(*what, seconds=seconds, log=log))
            return started[-1]

        yield start
        for each in started:
            each.close()
            print(f"--- {each.function}\n{each.log()}")  # noqa: T201 - shown where a test failed
