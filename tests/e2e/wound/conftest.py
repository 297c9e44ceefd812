"""Cells under clocks of their own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from tests.e2e.wound.world import Worlds


@pytest.fixture(scope="module")
def worlds(
    request: pytest.FixtureRequest, postgres_server: Postgres, valkey_server: Valkey
) -> Iterator[Worlds]:
    """Each begins when the test says that it is. Kafka is started for those that ask for it."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        worlds = Worlds(
            postgres_server,
            valkey_server,
            lambda: request.getfixturevalue("kafka_server"),
            Path(folder),
        )
        yield worlds
        worlds.close()
