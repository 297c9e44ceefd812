"""How deep the line is, and for whom."""

from lamplighter.domain.policy import JobClass
from lamplighter.ports.queue import Depth, Queue
from tests.adapters.queue.builders import POOL, at, run
from tests.adapters.queue.stores import in_a_cluster_too


@in_a_cluster_too
def test_depth_counts_what_is_due_by_pool_class_and_tenant(queue: Queue) -> None:
    queue.add([run(0, priority=priority) for priority in (3, 4, 5, 5)])
    queue.add(
        [run(0, tenant="b:c", pool="x:y", priority=1), run(0, priority=9), run(0, priority=9)]
    )
    queue.add([run(60), run(60, tenant="later")])
    queue.tick(1, at(0), {POOL: 0}, 10)
    assert queue.depth(at(0)) == [
        Depth(POOL, JobClass.P2, "acme", 4),
        Depth(POOL, JobClass.P4, "acme", 2),
        Depth("x:y", JobClass.P1, "b:c", 1),
    ]


def test_depth_falls_as_runs_come_out(queue: Queue) -> None:
    queue.add([run(), run()])
    queue.tick(1, at(0), {POOL: 1}, 10)
    assert [each.runs for each in queue.depth(at(0))] == [1]
    queue.tick(1, at(0), {POOL: 1}, 10)
    assert queue.depth(at(0)) == []


def test_a_thousand_tenants_are_counted(queue: Queue) -> None:
    queue.add([run(0, tenant=f"t{n}") for n in range(1000)])
    for _ in range(5):
        queue.tick(1, at(0), {POOL: 0}, 10)
    assert len({each.tenant for each in queue.depth(at(0))}) == 1000
