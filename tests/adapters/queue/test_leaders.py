"""Leaders come and go: nothing in flight is lost, and no leader of the past changes anything."""

from collections.abc import Callable

import pytest

from lamplighter.ports.queue import Counts, Queue, QueueEmptied, StaleEpoch
from tests.adapters.queue.builders import PLENTY, POOL, at, ready, run
from tests.adapters.queue.stores import Store, in_a_cluster_too

BY_EPOCH: dict[str, Callable[[Queue, int], object]] = {
    "tick": lambda queue, epoch: queue.tick(epoch, at(0), PLENTY, 10),
    "published": lambda queue, epoch: queue.published(epoch, [ready(run())]),
    "take_over": lambda queue, epoch: queue.take_over(epoch),
    "add": lambda queue, epoch: queue.add([run()], epoch=epoch),
    "loaded": lambda queue, epoch: queue.loaded(epoch, at(60)),
}
every_call = pytest.mark.parametrize("call", BY_EPOCH.values(), ids=BY_EPOCH.keys())


@in_a_cluster_too
@every_call
def test_a_leader_of_the_past_is_refused(queue: Queue, call: Callable[..., object]) -> None:
    queue.add([run()])
    queue.begin(2, at(0), at(0))
    with pytest.raises(StaleEpoch):
        call(queue, 1)
    assert queue.counts() == Counts(runs=1, in_flight=0)
    call(queue, 2)


@in_a_cluster_too
@every_call
def test_an_emptied_queue_refuses_until_somebody_begins(
    store: Store, queue: Queue, call: Callable[..., object]
) -> None:
    store.empty()
    with pytest.raises(QueueEmptied):
        call(queue, 1)
    queue.begin(1, at(0), at(0))
    call(queue, 1)


@every_call
def test_a_leader_whose_beginning_was_lost_must_begin_again(
    queue: Queue, call: Callable[..., object]
) -> None:
    with pytest.raises(QueueEmptied):
        call(queue, 7)


def test_who_does_not_lead_is_refused_by_an_emptied_queue_too(store: Store) -> None:
    with pytest.raises(QueueEmptied):
        store.queue.add([run()])


def test_the_epoch_is_never_lowered(queue: Queue) -> None:
    queue.begin(9, at(0), at(0))
    with pytest.raises(StaleEpoch):
        queue.begin(8, at(0), at(0))
    queue.begin(9, at(0), at(0))
    queue.begin(10, at(0), at(0))


def test_a_new_leader_goes_on_where_the_ledger_says_if_the_queue_knows_as_much(
    queue: Queue,
) -> None:
    queue.loaded(1, at(300))
    assert queue.begin(2, at(300), at(0)) == at(300)
    queue.loaded(2, at(600))
    # It died before the ledger knew: what lies between is loaded twice, and known.
    assert queue.begin(3, at(300), at(0)) == at(300)


@in_a_cluster_too
def test_a_queue_that_knows_less_is_loaded_from_the_watermark(queue: Queue) -> None:
    queue.loaded(1, at(200))
    assert queue.begin(2, at(300), at(100)) == at(100)


def test_a_leader_that_dies_before_it_has_loaded_leaves_the_queue_no_wiser(store: Store) -> None:
    queue = store.queue
    assert queue.begin(1, at(300), at(100)) == at(100)  # an empty one
    assert queue.begin(2, at(300), at(100)) == at(100)
    queue.loaded(2, at(300))
    assert queue.begin(3, at(300), at(100)) == at(300)


@in_a_cluster_too
def test_a_new_leader_gets_what_the_old_one_left_in_flight(queue: Queue) -> None:
    dues = [run(priority=1 + n % 10, tenant=f"t{n % 3}", fence=n) for n in range(20)]
    queue.add(dues)
    popped = queue.tick(1, at(0), PLENTY, 100).runs
    queue.published(1, popped[:5])
    queue.begin(2, at(0), at(0))
    assert set(queue.take_over(2)) == set(popped[5:])
    assert len(queue.take_over(2)) == 15  # until they are published
    queue.published(2, popped[5:])
    assert queue.take_over(2) == []
    assert queue.counts() == Counts(runs=0, in_flight=0)


@in_a_cluster_too
def test_the_next_leader_is_told_how_quick_the_pools_were(store: Store, queue: Queue) -> None:
    assert queue.paces() == {}
    queue.keep_paces({"default": 4512.5, "a-pool": 0.25})
    queue.keep_paces({"default": 12.0})
    queue.keep_paces({})
    assert queue.paces() == {"default": 12.0, "a-pool": 0.25}
    store.empty()
    assert queue.paces() == {}


def test_thousands_in_flight_come_back_once_each(queue: Queue) -> None:
    queue.add([run() for _ in range(2100)])
    queue.tick(1, at(0), {POOL: 2100}, 2100)
    queue.begin(2, at(0), at(0))
    taken = queue.take_over(2)
    assert len(taken) == len(set(taken)) == 2100


def test_what_is_in_flight_is_not_added_or_removed(queue: Queue) -> None:
    due = run()
    queue.add([due])
    popped = queue.tick(1, at(0), PLENTY, 10).runs
    queue.add([due])
    assert queue.remove([due.run_id]) == 0
    assert queue.tick(1, at(0), PLENTY, 10).runs == []
    assert queue.take_over(1) == popped


@in_a_cluster_too
def test_a_newer_fence_waits_beside_an_older_one_in_flight(queue: Queue) -> None:
    old = run(0)
    new = run(10, run_id=old.run_id, fence=1)
    queue.add([old])
    popped = queue.tick(1, at(0), PLENTY, 10).runs
    queue.add([new])
    queue.published(1, popped)
    assert queue.holds([new.run_id]) == {new.run_id}
    assert queue.tick(1, at(10), PLENTY, 10).runs == [ready(new)]


def test_publishing_twice_forgets_nothing_that_came_back(queue: Queue) -> None:
    due = run()
    queue.add([due])
    popped = queue.tick(1, at(0), PLENTY, 10).runs
    queue.published(1, popped)
    queue.add([due])
    queue.published(1, popped)
    assert queue.tick(1, at(0), PLENTY, 10).runs == popped
