"""Beside a flood: who asks for little is let through while the leader is busy with it."""

import threading
from typing import Any

import pytest

from lamplighter.ports.bus import BusUnavailable
from tests.stages.watch_world import Breakable, World, eventually, watching

# Of a window of this size, ten places are kept.
PLACES = 2_000
FLOOD = 2_100


class Slow(Breakable):
    """Takes its time with a large batch, until it is told to go on; may refuse small ones."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._bus = inner
        self.is_busy = threading.Event()
        self.may_go = threading.Event()
        self.refuses = False
        self.refused = threading.Event()

    def publish(self, messages: Any) -> None:
        if len(messages) > 100:
            self.is_busy.set()
            assert self.may_go.wait(20)
        elif self.refuses:
            self.refused.set()
            raise BusUnavailable("not now")
        self._bus.publish(messages)


@pytest.fixture
def world() -> World:
    world = World()
    world.seen_bus = Slow(world.bus)
    for _ in range(FLOOD):
        world.submit(tenant="flood")
    return world


def slow(world: World) -> Slow:
    assert isinstance(world.seen_bus, Slow)
    return world.seen_bus


def test_a_single_run_does_not_wait_until_a_flood_is_published(world: World) -> None:
    with watching(world.watcher(places=PLACES)) as reports:
        assert slow(world).is_busy.wait(20)
        job = world.submit(tenant="small")
        [message] = world.receive(1)
        assert message.run_id == world.run(job).run_id
        slow(world).may_go.set()
        world.receive(FLOOD)
    assert reports[0].let_through == 1


def test_what_could_not_be_let_through_is_published_by_the_leader(world: World) -> None:
    slow(world).refuses = True
    with watching(world.watcher(places=PLACES)):
        assert slow(world).is_busy.wait(20)
        job = world.submit(tenant="small")
        assert slow(world).refused.wait(20)
        slow(world).refuses = False
        slow(world).may_go.set()
        runs = {message.run_id for message in world.receive(FLOOD + 1)}
        assert world.run(job).run_id in runs
        eventually(lambda: world.queue.counts().in_flight == 0)


def test_where_nothing_is_kept_nobody_is_let_through(world: World) -> None:
    with watching(world.watcher(places=150)) as reports:
        assert slow(world).is_busy.wait(20)
        world.submit(tenant="small")
        slow(world).may_go.set()
        world.receive(FLOOD + 1)
    assert reports[0].let_through == 0
