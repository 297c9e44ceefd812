"""The handlers over a ledger in memory, whose clock a test winds."""

import pytest

from tests.functions.calling import Client
from tests.functions.world import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def call(world: World) -> Client:
    return world.call
