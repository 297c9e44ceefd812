"""One suite for every ledger: whatever is true of one of them is true of all."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.leases import ValkeyLeases
from lamplighter.ports.ledger import Leases, Ledger
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import KINDS, Store


@pytest.fixture(scope="session")
def store(postgres_server: Postgres) -> Iterator[Store]:
    made = Store(postgres_server)
    yield made
    made.close()


@pytest.fixture(scope="session")
def store16(postgres16_server: Postgres) -> Iterator[Store]:
    made = Store(postgres16_server)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def ledger(request: pytest.FixtureRequest) -> Ledger:
    """Empty. Servers are started only where a test asks for them."""
    return _ledger(request)


@pytest.fixture(params=(*KINDS, "valkey"))
def leases(request: pytest.FixtureRequest) -> Iterator[Leases]:
    """Nobody's yet: a ledger's, or those of a store that is none."""
    if request.param != "valkey":
        yield _ledger(request)
        return
    server: Valkey = request.getfixturevalue("valkey_server")
    client = Client(server.url, cell=f"c{uuid4().hex[:12]}")
    yield ValkeyLeases(client)
    client.close()


def _ledger(request: pytest.FixtureRequest) -> Ledger:
    if request.param == "memory":
        return MemoryLedger()
    name = "store16" if request.param == "postgres16" else "store"
    store: Store = request.getfixturevalue(name)
    return store.emptied()


@pytest.fixture
def play(ledger: Ledger) -> Play:
    return Play(ledger)
