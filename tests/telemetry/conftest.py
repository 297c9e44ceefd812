"""A cell on real stores, wired by the environment alone."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.topics import all_topics
from tests.telemetry.cell import Cell


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """Who seems to be on Lambda changes the log of the whole process."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    formats = [handler.formatter for handler in handlers]
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    for handler, form in zip(handlers, formats, strict=True):
        handler.setFormatter(form)


@pytest.fixture(scope="module")
def database(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database(f"t{uuid4().hex}")
    migrate(url, days_ahead=2)
    return url


@pytest.fixture
def start(
    database: str, valkey_server: Valkey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Cell]]:
    """With settings, by name."""
    made: list[Cell] = []

    def begin(**settings: str) -> Cell:
        told = {
            "database_url": database,
            "valkey_url": valkey_server.url,
            "cell": f"c{uuid4().hex[:12]}",
            "data_dir": str(folder),
            "watch_seconds": "1",
        }
        for name, value in {**told, **settings}.items():
            monkeypatch.setenv(f"LAMPLIGHTER_{name.upper()}", value)
        wiring.forget()
        wiring.bus().ensure_topics(all_topics(wiring.settings().windows()))
        made.append(Cell())
        return made[-1]

    yield begin
    for cell in made:
        cell.close()
    wiring.presence().stop()
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()
