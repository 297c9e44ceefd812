"""Tenants take turns within a class; classes divide a pool by their shares; nobody starves."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.domain.ordering import LITTLE
from lamplighter.domain.policy import JobClass
from lamplighter.ports.queue import Queue
from tests.adapters.queue.builders import NOON, POOL, at, run
from tests.adapters.queue.stores import Store, in_a_cluster_too


def _tenants(queue: Queue, places: int) -> list[str]:
    return [each.tenant for each in queue.tick(1, at(0), {POOL: places}, places).runs]


def _classes(queue: Queue, places: int) -> Counter[JobClass]:
    return Counter(each.job_class for each in queue.tick(1, at(0), {POOL: places}, places).runs)


@in_a_cluster_too
def test_tenants_take_turns(queue: Queue) -> None:
    queue.add([run(0, tenant=tenant) for tenant in "aaabbc"])
    assert _tenants(queue, 6) == ["a", "b", "c", "a", "b", "a"]


def test_turns_go_on_where_the_last_tick_stopped(queue: Queue) -> None:
    queue.add([run(0, tenant=tenant) for tenant in "abc" * 3])
    taken = [tenant for places in (2, 2, 1, 4) for tenant in _tenants(queue, places)]
    assert "".join(taken) == "abcabcabc"


@in_a_cluster_too
def test_a_flood_of_one_costs_another_one_turn_at_most(queue: Queue) -> None:
    queue.add([run(-60, tenant="flood") for _ in range(1500)])
    assert set(_tenants(queue, 100)) == {"flood"}
    queue.add([run(0, tenant="small")])
    assert "small" in _tenants(queue, 2)


def _kept(queue: Queue, kept: int, free: int = 0) -> list[str]:
    ticked = queue.tick(1, at(0), {POOL: free}, 1000, {POOL: kept})
    return [each.tenant for each in ticked.runs]


@in_a_cluster_too
def test_a_full_pool_has_places_kept_for_who_asks_for_little(queue: Queue) -> None:
    queue.add([run(-60, tenant="flood") for _ in range(LITTLE + 1)])
    queue.add([run(0, tenant="small", priority=priority) for priority in (5, 3)])
    ticked = queue.tick(1, at(0), {POOL: 0}, 1000, {POOL: 50})
    assert [(each.tenant, each.priority) for each in ticked.runs] == [("small", 3), ("small", 5)]
    assert ticked.backlog
    assert _kept(queue, 50) == []


def test_no_more_places_are_kept_than_are_said_to_be(queue: Queue) -> None:
    queue.add([run(0, tenant=tenant) for tenant in "aabbc"])
    assert _kept(queue, 3) == ["a", "a", "c"]
    assert _kept(queue, 1) == []
    assert _kept(queue, 2) == ["b", "b"]


def test_places_are_kept_in_every_class(queue: Queue) -> None:
    queue.add([run(0, tenant="flood", priority=1) for _ in range(LITTLE + 1)])
    queue.add([run(0, tenant="a", priority=9), run(0, tenant="flood", priority=9)])
    assert sorted(_kept(queue, 50)) == ["a", "flood"]


def test_what_is_kept_comes_after_what_is_free(queue: Queue) -> None:
    queue.add([run(-60, tenant="flood") for _ in range(LITTLE + 9)])
    assert _kept(queue, 5, free=1) == ["flood"]
    queue.add([run(0, tenant=tenant) for tenant in "ab"])
    assert _kept(queue, 5, free=2) == ["flood", "a", "b"]
    assert _kept(queue, 0, free=1) == ["flood"]


def test_who_asks_for_little_and_is_not_due_waits(queue: Queue) -> None:
    queue.add([run(0, tenant="a"), run(60, tenant="a"), run(60, tenant="b")])
    assert _kept(queue, 50) == ["a"]
    assert queue.next_due() == at(60)


def test_whoever_comes_later_queues_up_behind_the_others(queue: Queue) -> None:
    queue.add([run(0, tenant=tenant) for tenant in "aabb"])
    assert _tenants(queue, 1) == ["a"]
    queue.add([run(0, tenant="c")])
    assert _tenants(queue, 4) == ["b", "a", "c", "b"]


def test_a_tenant_without_due_runs_loses_its_turn_to_the_others(queue: Queue) -> None:
    gone = run(0, tenant="a")
    queue.add([gone, run(100, tenant="a"), run(0, tenant="b"), run(0, tenant="b")])
    queue.tick(1, at(0), {POOL: 0}, 1)
    queue.remove([gone.run_id])
    assert _tenants(queue, 5) == ["b", "b"]


def test_a_tenant_s_turn_in_one_class_is_not_spent_in_another(queue: Queue) -> None:
    queue.add([run(0, tenant="a", priority=1) for _ in range(9)])
    queue.add([run(0, tenant=tenant, priority=5) for tenant in "ab"])
    runs = queue.tick(1, at(0), {POOL: 6}, 6).runs
    assert Counter((each.tenant, each.priority) for each in runs)["b", 5] == 1


@given(
    waiting=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 12), min_size=1),
    pops=st.lists(st.integers(1, 9), max_size=12),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_t_pops_in_a_row_serve_each_of_t_tenants_once(
    store: Store, waiting: dict[str, int], pops: list[int]
) -> None:
    store.empty()
    queue = store.queue
    queue.begin(1, NOON, NOON)
    queue.add([run(n, tenant=tenant) for tenant, runs in waiting.items() for n in range(runs)])
    taken = []
    for places in pops:
        taken += queue.tick(1, at(60), {POOL: places}, 100).runs
    left = Counter(waiting)
    for start in range(len(taken)):
        tenants = sum(1 for runs in left.values() if runs > 0)
        window = [each.tenant for each in taken[start : start + tenants]]
        assert len(set(window)) == len(window)
        left[taken[start].tenant] -= 1
    assert sum(left.values()) == max(0, sum(waiting.values()) - sum(pops))


def _fill(queue: Queue, **runs: int) -> None:
    priority_of = {"p1": 1, "p2": 5, "p3": 8, "p4": 10}
    for name, count in runs.items():
        queue.add([run(0, priority=priority_of[name]) for _ in range(count)])


@in_a_cluster_too
def test_classes_divide_a_pool_by_their_shares(queue: Queue) -> None:
    _fill(queue, p1=400, p2=400, p3=400, p4=400)
    taken = _classes(queue, 360)
    assert taken == {JobClass.P1: 200, JobClass.P2: 100, JobClass.P3: 40, JobClass.P4: 20}


def test_shares_hold_over_time_with_one_place_at_a_time(queue: Queue) -> None:
    _fill(queue, p1=200, p2=200, p3=200, p4=200)
    taken = sum((_classes(queue, 1) for _ in range(180)), Counter[JobClass]())
    assert taken == {JobClass.P1: 100, JobClass.P2: 50, JobClass.P3: 20, JobClass.P4: 10}


@in_a_cluster_too
def test_a_share_that_is_not_used_goes_to_the_others(queue: Queue) -> None:
    _fill(queue, p2=10, p4=90)
    assert _classes(queue, 100) == {JobClass.P2: 10, JobClass.P4: 90}


def test_the_least_urgent_class_does_not_starve(queue: Queue) -> None:
    _fill(queue, p1=100, p4=1)
    taken = [_classes(queue, 1) for _ in range(12)]
    assert any(JobClass.P4 in each for each in taken)


def test_a_class_that_was_idle_has_saved_up_nothing(queue: Queue) -> None:
    _fill(queue, p4=300)
    _classes(queue, 200)
    _fill(queue, p1=300)
    taken = _classes(queue, 110)
    assert abs(taken[JobClass.P4] - 10) <= 1


def test_pools_keep_their_own_accounts(queue: Queue) -> None:
    queue.add([run(0, pool=pool, priority=p) for pool in "ab" for p in (1, 10) for _ in range(30)])
    one = queue.tick(1, at(0), {"a": 22}, 100).runs
    other = queue.tick(1, at(0), {"b": 22}, 100).runs
    assert Counter(each.priority for each in one) == Counter(each.priority for each in other)
