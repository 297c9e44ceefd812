"""One stack per bus for all tests that disturb nobody; who breaks something starts another."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.stack import Stack

BUSES = [
    pytest.param("streams", marks=pytest.mark.xdist_group("stack-streams")),
    pytest.param("kafka", marks=[pytest.mark.kafka, pytest.mark.xdist_group("kafka")]),
]


@pytest.fixture(scope="session", params=BUSES)
def stack(request: pytest.FixtureRequest) -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data", bus=request.param) as running,
    ):
        yield running
        running.verify()
