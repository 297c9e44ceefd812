"""Loading: from where, how far, and what a leader that dies on the way leaves to the next."""

from datetime import datetime, timedelta

import pytest

from lamplighter.domain.ids import epoch_ms
from lamplighter.ports.ledger import Lease
from lamplighter.stages.load import Loader
from lamplighter.stages.plan import HORIZON
from tests.stages.watch_world import World


@pytest.fixture
def world() -> World:
    return World()


def lease(world: World, holder: str) -> Lease:
    taken = world.ledger.acquire_lease("watcher", holder, timedelta(minutes=1))
    assert taken is not None
    return taken


def stands(loader: Loader, at: datetime) -> bool:
    """A queue keeps milliseconds, as run ids do."""
    return epoch_ms(loader.loaded_to) == epoch_ms(at)


def load(world: World, loader: Loader) -> int:
    loader.start(world.ledger.now() + HORIZON)
    loaded = loader.step()
    while loader.is_busy:
        loaded += loader.step()
    return loaded


def test_a_stretch_is_loaded_once(world: World) -> None:
    world.submit(60)
    loader = Loader(world.ledger, world.queue, lease(world, "w1"))
    assert load(world, loader) == 1
    assert load(world, loader) == 0
    assert world.ledger.cursor().loaded_to == loader.loaded_to


def test_the_next_leader_goes_on_where_the_last_one_stopped(world: World) -> None:
    first = lease(world, "w1")
    load(world, Loader(world.ledger, world.queue, first))
    world.ledger.release_lease(first)
    second = Loader(world.ledger, world.queue, lease(world, "w2"))
    assert stands(second, world.ledger.cursor().loaded_to)


def test_a_leader_that_dies_while_it_fills_an_empty_queue_leaves_that_to_the_next(
    world: World,
) -> None:
    first = lease(world, "w1")
    load(world, Loader(world.ledger, world.queue, first))
    world.submit(60)
    world.queue.empty()
    Loader(world.ledger, world.queue, first)  # and dies before it has loaded anything
    world.ledger.release_lease(first)
    second = Loader(world.ledger, world.queue, lease(world, "w2"))
    assert stands(second, world.ledger.cursor().watermark)
    assert load(world, second) == 1


def test_a_leader_that_dies_unsure_leaves_loading_to_the_next(world: World) -> None:
    first = lease(world, "w1")
    loader = Loader(world.ledger, world.queue, first)
    load(world, loader)
    with pytest.raises(KeyboardInterrupt), loader.unsure():
        raise KeyboardInterrupt  # as good as dead
    world.ledger.release_lease(first)
    second = Loader(world.ledger, world.queue, lease(world, "w2"))
    assert stands(second, world.ledger.cursor().watermark)
    assert not stands(second, world.ledger.cursor().loaded_to)


def test_who_was_unsure_stands_where_it_stood(world: World) -> None:
    first = lease(world, "w1")
    loader = Loader(world.ledger, world.queue, first)
    with loader.unsure():
        pass
    load(world, loader)
    with loader.unsure():
        pass
    world.ledger.release_lease(first)
    second = Loader(world.ledger, world.queue, lease(world, "w2"))
    assert stands(second, loader.loaded_to)


def test_pages_are_loaded_one_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamplighter.stages.load._PAGE", 2)
    jobs = [world.submit(60 + n) for n in range(5)]
    loader = Loader(world.ledger, world.queue, lease(world, "w1"))
    loader.start(world.ledger.now() + HORIZON)
    assert loader.step() == 2
    assert loader.loaded_to == world.run(jobs[1]).fire_at
    assert loader.step() == 2
    assert loader.step() == 1
    assert not loader.is_busy
    assert world.queue.counts().runs == 5
