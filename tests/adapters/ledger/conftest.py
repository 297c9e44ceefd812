"""One suite for every ledger: whatever is true of one of them is true of all."""

from collections.abc import Iterator

import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.ports.ledger import Ledger
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
    if request.param == "memory":
        return MemoryLedger()
    name = "store16" if request.param == "postgres16" else "store"
    store: Store = request.getfixturevalue(name)
    return store.emptied()


@pytest.fixture
def play(ledger: Ledger) -> Play:
    return Play(ledger)
