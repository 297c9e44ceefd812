"""One suite for every bus: whatever is true of one of them is true of all."""

from collections.abc import Iterator

import pytest

from infra.local.kafka.server import Kafka
from infra.local.valkey import Valkey
from lamplighter.ports.bus import Bus
from tests.adapters.bus.brokers import ALL, Broker, Memory, Served, Sqs
from tests.adapters.bus.moto_sqs import playing_sqs
from tests.adapters.bus.play import Play
from tests.conftest import _folder

# Brokers of this suite's own: it stops them, and lets them miss a consumer sooner than they like.


@pytest.fixture(scope="session")
def own_kafka() -> Iterator[Served]:
    settings = {"group.min.session.timeout.ms": "500"}
    with _folder() as made, Kafka(made, settings=settings) as server:
        yield Served("kafka", server)


@pytest.fixture(scope="session")
def own_valkey() -> Iterator[Served]:
    with _folder() as made, Valkey(made) as server:
        yield Served("streams", server)


@pytest.fixture
def own_sqs() -> Iterator[Sqs]:
    with playing_sqs():
        yield Sqs()


@pytest.fixture(params=ALL)
def broker(request: pytest.FixtureRequest) -> Broker:
    """Servers are started only where a test asks for them."""
    if request.param == "memory":
        return Memory()
    name = {"kafka": "own_kafka", "streams": "own_valkey", "sqs": "own_sqs"}[request.param]
    found: Broker = request.getfixturevalue(name)
    return found


@pytest.fixture
def bus(broker: Broker) -> Iterator[Bus]:
    made = broker.bus()
    yield made
    made.close()


@pytest.fixture
def play(bus: Bus) -> Iterator[Play]:
    made = Play(bus)
    yield made
    made.close()
