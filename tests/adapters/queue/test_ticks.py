"""Ticks: the most urgent first, as many as there are places, aged where they have waited long."""

from lamplighter.ports.queue import Queue
from tests.adapters.queue.builders import PLENTY, POOL, at, ready, run
from tests.adapters.queue.stores import in_a_cluster_too

MINUTE = 60


def _order(queue: Queue, seconds: float, *, places: int = 100) -> list[int]:
    """The priorities of what comes out, in the order in which it does."""
    return [each.priority for each in queue.tick(1, at(seconds), {POOL: places}, 100).runs]


@in_a_cluster_too
def test_the_more_urgent_goes_first_within_a_class(queue: Queue) -> None:
    queue.add([run(0, priority=priority) for priority in (5, 3, 4)])
    assert _order(queue, 0) == [3, 4, 5]


def test_at_one_priority_the_older_goes_first(queue: Queue) -> None:
    late, early = run(2), run(1)
    queue.add([late, early])
    assert queue.tick(1, at(3), PLENTY, 10).runs == [ready(early), ready(late)]


def test_a_thousand_seconds_are_worth_one_level(queue: Queue) -> None:
    # Both are young: a run rises only from 5 minutes overdue on.
    queue.add([run(0, priority=4), run(-299, priority=5)])
    assert _order(queue, 0) == [4, 5]


@in_a_cluster_too
def test_a_run_rises_a_level_a_minute_once_it_is_five_minutes_overdue(queue: Queue) -> None:
    for overdue, order in ((5.9, [3, 5]), (6.9, [3, 5]), (7, [5, 3])):
        queue.add([run(-overdue * MINUTE, priority=5), run(0, priority=3)])
        assert _order(queue, 0) == order


def test_within_one_priority_aging_changes_no_order(queue: Queue) -> None:
    dues = [run(-minutes * MINUTE) for minutes in (4, 5, 6, 7, 30)]
    queue.add(dues)
    runs = queue.tick(1, at(0), PLENTY, 10).runs
    assert runs == [ready(due) for due in reversed(dues)]


@in_a_cluster_too
def test_no_more_come_out_than_there_are_places(queue: Queue) -> None:
    queue.add([run() for _ in range(5)])
    ticked = queue.tick(1, at(0), {POOL: 2}, 10)
    assert (len(ticked.runs), ticked.more, ticked.backlog) == (2, False, True)
    ticked = queue.tick(1, at(0), {POOL: 3}, 10)
    assert (len(ticked.runs), ticked.more, ticked.backlog) == (3, False, False)


def test_late_binding_what_waits_for_a_place_is_overtaken(queue: Queue) -> None:
    slow, urgent = run(0, priority=5), run(1, priority=3)
    queue.add([slow])
    assert queue.tick(1, at(0), {POOL: 0}, 10).runs == []
    queue.add([urgent])
    assert queue.tick(1, at(1), {POOL: 1}, 10).runs == [ready(urgent)]


def test_a_pool_without_places_holds_nobody_up(queue: Queue) -> None:
    here, there = run(pool="here"), run(pool="there")
    queue.add([here, there])
    assert queue.tick(1, at(0), {"there": 1}, 10).runs == [ready(there)]
    assert queue.tick(1, at(0), {"there": 1, "here": -1}, 10).runs == []
    assert queue.tick(1, at(0), {"here": 1}, 10).runs == [ready(here)]


def test_the_limit_cuts_a_tick_short_and_it_says_so(queue: Queue) -> None:
    queue.add([run() for _ in range(5)])
    first = queue.tick(1, at(0), PLENTY, 3)
    second = queue.tick(1, at(0), PLENTY, 3)
    assert (len(first.runs), first.more) == (3, True)
    assert (len(second.runs), second.more) == (2, False)


@in_a_cluster_too
def test_no_pool_uses_up_the_limit_of_the_others(queue: Queue) -> None:
    queue.add([run(pool=pool) for pool in ("a", "b", "c") for _ in range(50)])
    ticked = queue.tick(1, at(0), {"a": 50, "b": 50, "c": 50}, 30)
    assert [each.pool for each in ticked.runs] == ["a"] * 10 + ["b"] * 10 + ["c"] * 10
    assert ticked.more


def test_what_a_pool_leaves_of_the_limit_goes_to_the_next(queue: Queue) -> None:
    queue.add([run(pool="a"), *(run(pool="b") for _ in range(50))])
    ticked = queue.tick(1, at(0), {"a": 50, "b": 50}, 30)
    assert len(ticked.runs) == 30


@in_a_cluster_too
def test_a_tick_tells_when_the_next_run_is_due(queue: Queue) -> None:
    assert queue.next_due() is None
    queue.add([run(30), run(20.5, tenant="other")])
    assert queue.next_due() == at(20.5)
    assert queue.tick(1, at(21), PLENTY, 10).next_due == at(30)
    assert queue.tick(1, at(30), PLENTY, 10).next_due is None


def test_removing_the_next_run_moves_the_next_due_time(queue: Queue) -> None:
    soon, later = run(10), run(20)
    queue.add([soon, later])
    queue.remove([soon.run_id])
    assert queue.next_due() == at(20)
    queue.remove([later.run_id])
    assert queue.next_due() is None


def test_a_leader_whose_clock_is_behind_holds_nobody_up(queue: Queue) -> None:
    queue.add([run(10), run(10)])
    assert len(queue.tick(1, at(10), {POOL: 1}, 10).runs) == 1
    assert len(queue.tick(1, at(9), {POOL: 1}, 10).runs) == 1


@in_a_cluster_too
def test_many_lanes_are_served_in_more_than_one_script(queue: Queue) -> None:
    many = [run(0, tenant=f"t{n}", priority=1 + n % 10) for n in range(730)]
    queue.add(many)
    out, more = [], True
    while more:
        ticked = queue.tick(1, at(0), {POOL: 1000}, 300)
        out += ticked.runs
        more = ticked.more
    assert len(out) == len(set(out)) == 730
