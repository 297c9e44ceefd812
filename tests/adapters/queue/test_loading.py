"""Into the queue and out again: once each, the newest fence, nothing lost on the way."""

from uuid import uuid4

import pytest

from lamplighter.ports.queue import Counts, Queue
from tests.adapters.queue.builders import PLENTY, POOL, at, ready, run
from tests.adapters.queue.stores import in_a_cluster_too


@in_a_cluster_too
def test_a_run_comes_out_when_it_is_due_and_not_before(queue: Queue) -> None:
    due = run(10)
    queue.add([due])
    assert queue.tick(1, at(9.999), PLENTY, 10).runs == []
    assert queue.tick(1, at(10), PLENTY, 10).runs == [ready(due)]


def test_all_that_publishing_needs_comes_out_again(queue: Queue) -> None:
    due = run(pool="päris : 2", tenant="a:b|c%d {x}", priority=9, fence=12)
    queue.add([due])
    [popped] = queue.tick(1, at(0), {"päris : 2": 1}, 10).runs
    assert popped == ready(due)
    assert popped.job_class.name == "P4"


@in_a_cluster_too
def test_thousands_are_added_in_one_call_and_come_out_once_each(queue: Queue) -> None:
    many = [run(n % 7, tenant=f"t{n % 3}", priority=1 + n % 10) for n in range(2500)]
    queue.add(many, epoch=1)
    out = [popped for _ in range(3) for popped in queue.tick(1, at(10), {POOL: 5000}, 1000).runs]
    assert len(out) == 2500
    assert set(out) == {ready(due) for due in many}
    assert queue.tick(1, at(10), {POOL: 5000}, 1000).runs == []


def test_the_same_run_and_fence_is_there_once(queue: Queue) -> None:
    due = run()
    queue.add([due, due])
    queue.add([due])
    assert len(queue.tick(1, at(0), PLENTY, 10).runs) == 1
    assert queue.tick(1, at(0), PLENTY, 10).runs == []


def test_the_same_fence_again_does_not_move_a_run(queue: Queue) -> None:
    due = run(10)
    queue.add([due])
    queue.add([run(0, run_id=due.run_id)])
    assert queue.tick(1, at(5), PLENTY, 10).runs == []


@in_a_cluster_too
@pytest.mark.parametrize("in_line", [False, True])
def test_a_newer_fence_replaces_an_older_one(queue: Queue, in_line: bool) -> None:
    old = run(0)
    new = run(30, run_id=old.run_id, fence=1)
    queue.add([old])
    if in_line:
        queue.tick(1, at(0), {POOL: 0}, 10)
    queue.add([new])
    assert queue.tick(1, at(29), PLENTY, 10).runs == []
    assert queue.tick(1, at(30), PLENTY, 10).runs == [ready(new)]


def test_a_newer_fence_may_come_with_another_priority(queue: Queue) -> None:
    old, other = run(0, priority=1), run(0, priority=9)
    new = run(0, run_id=old.run_id, fence=1, priority=9)
    queue.add([old, other])
    queue.add([new])
    assert set(queue.tick(1, at(0), PLENTY, 10).runs) == {ready(new), ready(other)}


@pytest.mark.parametrize("newer_first", [False, True])
def test_of_two_fences_in_one_batch_the_newer_stays(queue: Queue, newer_first: bool) -> None:
    old = run(0)
    new = run(0, run_id=old.run_id, fence=1)
    queue.add([new, old] if newer_first else [old, new])
    assert queue.tick(1, at(0), PLENTY, 10).runs == [ready(new)]


def test_an_older_fence_changes_nothing(queue: Queue) -> None:
    new = run(0, fence=10)
    queue.add([new])
    queue.add([run(0, run_id=new.run_id, fence=9)])
    assert queue.tick(1, at(0), PLENTY, 10).runs == [ready(new)]


@in_a_cluster_too
def test_what_is_removed_does_not_come_out(queue: Queue) -> None:
    waits, in_line, stays = run(10), run(0), run(0)
    queue.add([waits, in_line, stays])
    queue.tick(1, at(0), {POOL: 0}, 10)
    assert queue.remove([waits.run_id, in_line.run_id, uuid4()]) == 2
    assert queue.remove([waits.run_id]) == 0
    assert queue.tick(1, at(10), PLENTY, 10).runs == [ready(stays)]


def test_what_is_removed_may_be_added_again(queue: Queue) -> None:
    due = run()
    queue.add([due])
    queue.remove([due.run_id])
    queue.add([due])
    assert queue.tick(1, at(0), PLENTY, 10).runs == [ready(due)]


def test_a_run_is_held_until_it_is_published(queue: Queue) -> None:
    waits, popped, out, stranger = run(10), run(0), run(0, priority=1), uuid4()
    queue.add([waits, popped, out])
    runs = queue.tick(1, at(0), PLENTY, 10).runs
    queue.published(1, [each for each in runs if each.run_id == out.run_id])
    asked = [waits.run_id, popped.run_id, out.run_id, stranger]
    assert queue.holds(asked) == {waits.run_id, popped.run_id}
    assert queue.counts() == Counts(runs=2, in_flight=1)


def test_nothing_asked_is_nothing_done(queue: Queue) -> None:
    queue.add([])
    queue.published(1, [])
    assert queue.remove([]) == 0
    assert queue.holds([]) == set()
    assert queue.tick(1, at(0), {}, 10).runs == []
    assert queue.tick(1, at(0), PLENTY, 10) == queue.tick(1, at(0), PLENTY, 10)
