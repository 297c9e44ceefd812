"""One suite for every queue: whatever is true of one of them is true of all."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.valkey import Valkey
from lamplighter.adapters.valkey.client import Client
from lamplighter.ports.queue import Queue
from tests.adapters.queue.builders import NOON
from tests.adapters.queue.stores import KINDS, ClusterValkey, Store, memory_store, valkey_store


@pytest.fixture(scope="session")
def valkey_client(valkey_server: Valkey) -> Iterator[Client]:
    client = Client(valkey_server.url)
    yield client
    client.close()


@pytest.fixture(scope="session")
def cluster_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    with ClusterValkey(folder) as server:
        server.own_all_slots()
        client = Client(server.url)
        deadline = time.monotonic() + 10
        while "cluster_state:ok" not in str(client.ask("CLUSTER", "INFO")):
            assert time.monotonic() < deadline, "the cluster did not form"
        yield client
        client.close()


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """Servers are started only where a test asks for them."""
    if request.param == "memory":
        yield memory_store()
        return
    store = valkey_store(request.getfixturevalue(f"{request.param}_client"))
    yield store
    getattr(store.queue, "close")()  # noqa: B009


@pytest.fixture
def queue(store: Store) -> Queue:
    """Empty, and led by epoch 1."""
    store.queue.begin(1, NOON, NOON)
    return store.queue
