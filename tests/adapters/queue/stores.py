"""The queues that the suite runs over. One of them is in cluster mode, as ElastiCache is."""

from collections.abc import Callable
from typing import Any

import pytest

from infra.local.service import free_port
from infra.local.valkey import Valkey
from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.adapters.valkey.cache import ValkeyCache
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.ports.cache import Cache
from lamplighter.ports.queue import Queue

KINDS = ("memory", "valkey")

# The heart of the contract is also proved where every script must keep to one slot.
in_a_cluster_too = pytest.mark.parametrize("store", [*KINDS, "cluster"], indirect=True)


class ClusterValkey(Valkey):
    """One node that owns every slot."""

    def _configuration(self) -> str:
        # Without a port of its own it takes one 10,000 higher, which some ports do not have.
        return f"{super()._configuration()}cluster-enabled yes\ncluster-port {free_port()}\n"

    def own_all_slots(self) -> None:
        client = Client(self.url)
        client.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        client.close()


class Store:
    """A queue and a cache over the same data, empty at first."""

    def __init__(self, queue: Queue, cache: Cache, empty: Callable[[], Any]) -> None:
        self.queue = queue
        self.cache = cache
        self.empty = empty


def memory_store() -> Store:
    queue = MemoryQueue()
    return Store(queue, MemoryCache(), queue.empty)


def valkey_store(client: Client) -> Store:
    client.ask("FLUSHALL")
    return Store(ValkeyQueue(client), ValkeyCache(client), lambda: client.ask("FLUSHALL"))
