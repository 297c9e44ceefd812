"""Databases for these tests: each a copy of one that was migrated once per server."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import psycopg
import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from tests.adapters.postgres.patience import PATIENT, SLOWLY
from tests.adapters.postgres.races import World

_numbers = count(1)

NewDatabase = Callable[[], str]


def _copy(server: Postgres, template: str) -> str:
    """A database of its own, in a tenth of a second instead of half of one."""
    name = f"copy_{next(_numbers)}"
    with psycopg.connect(server.url, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy".encode())
    return server.url_for(name)


@pytest.fixture(scope="session")
def migrated(postgres_server: Postgres) -> str:
    """The name of the database that the others are copied from. Nobody stays connected to it.

    Few days: copying and planning cost by the partition, and most tests live in the present.
    """
    migrate(postgres_server.ensure_database("migrated"), days_ahead=1)
    return "migrated"


@pytest.fixture(scope="module")
def new_database(postgres_server: Postgres, migrated: str) -> NewDatabase:
    return lambda: _copy(postgres_server, migrated)


@pytest.fixture
def url(new_database: NewDatabase) -> str:
    """A migrated database that nobody else uses."""
    return new_database()


@pytest.fixture
def ledger(url: str) -> Iterator[PostgresLedger]:
    ledger = PostgresLedger(url, bounds=PATIENT, habits=SLOWLY)
    yield ledger
    ledger.close()


@pytest.fixture
def conn(url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection beside the ledger's, to look and to prepare."""
    with psycopg.connect(url, autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="module")
def _worlds() -> Iterator[list[World]]:
    worlds: list[World] = []
    yield worlds
    for world in worlds:
        world.close()


@pytest.fixture
def world(new_database: NewDatabase, _worlds: list[World]) -> World:
    """A database for races, the same for a whole file unless a failed test has left it broken."""
    if not _worlds or not _worlds[-1].is_whole:
        _worlds.append(World(new_database()))
    return _worlds[-1]
