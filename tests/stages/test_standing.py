"""Standing: what the leader tells metrics of how much waits, and since when."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.contracts.topics import all_topics, job_runs
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Outcome, Ticket, Verdict
from lamplighter.ports.bus import BusUnavailable, Message
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.duties import Rhythm
from lamplighter.stages.standing import Gauge
from lamplighter.telemetry import Telemetry
from tests.stages.watch_world import World, eventually, watching
from tests.telemetry.emf_rules import checked

POOLS = ("default", "tasks")


class Told:
    """The values of each metric, by the pool and class of their line."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def write(self, line: str) -> None:
        self.lines.append(checked(line))

    def last(self, metric: str, *place: str) -> float | None:
        values = [
            line[metric][-1]
            for line in self.lines
            if metric in line
            and tuple(filter(None, (line.get("Pool"), line.get("Class")))) == place
        ]
        return values[-1] if values else None


@pytest.fixture
def world() -> World:
    made = World()
    made.bus.ensure_topics(all_topics(POOLS))
    return made


@pytest.fixture
def told() -> Told:
    return Told()


def gauge(world: World, told: Told, pools: Sequence[str] = POOLS) -> Gauge:
    seen: Any = world
    telemetry = Telemetry(told.write)
    return Gauge(telemetry, seen.seen_ledger, seen.seen_queue, seen.seen_bus, pools)


def _queue_up(world: World, *pools: str) -> None:
    """Due, and in the queue, with nobody who ticks."""
    world.queue.begin(1, world.ledger.now(), world.ledger.now())
    for pool in pools:
        world.submit(-1.0, pool=pool)
    world.queue.tick(1, world.ledger.now(), dict.fromkeys(pools, 0), 10)


def test_backlog_is_what_is_due_and_what_lies_on_the_bus(world: World, told: Told) -> None:
    topic = job_runs("tasks", JobClass.P2)
    world.bus.publish([Message(topic, b"{}") for _ in range(3)])
    _queue_up(world, "tasks", "default")

    gauge(world, told).look(world.ledger.now())

    assert [told.last("Backlog", pool) for pool in POOLS] == [1, 4]
    assert told.last("Backlog") == 5


def test_a_pool_in_which_nothing_waits_has_a_backlog_of_none(world: World, told: Told) -> None:
    gauge(world, told).look(world.ledger.now())
    assert [told.last("Backlog", pool) for pool in POOLS] == [0, 0]
    assert told.last("QueueDepth") == 0
    assert told.last("QueueDepth", "default", "P2") is None


def test_a_pool_at_work_has_a_backlog_until_the_work_is_done(world: World, told: Told) -> None:
    """Fargate would stop the last task under a run that it has claimed."""
    run = world.run(world.submit(0.0, pool="tasks"))
    looking = gauge(world, told)
    [held] = world.ledger.claim("w1", uuid4(), [Ticket(run.run_id, run.fence)]).claimed

    looking.look(world.ledger.now())
    assert [told.last("Backlog", pool) for pool in POOLS] == [0, 1]

    ended = Outcome(run_id=held.run_id, fence=held.fence, verdict=Verdict.SUCCESS)
    world.ledger.finish([ended])
    looking.look(world.ledger.now())
    assert told.last("Backlog", "tasks") == 0


def test_depth_is_told_of_each_pool_and_class_and_of_the_cell(world: World, told: Told) -> None:
    _queue_up(world, "default", "default", "tasks")
    gauge(world, told).look(world.ledger.now())
    assert told.last("QueueDepth", "default", "P2") == 2
    assert told.last("QueueDepth", "tasks", "P2") == 1
    assert told.last("QueueDepth") == 3


def test_the_oldest_run_that_nobody_claims_has_an_age(world: World, told: Told) -> None:
    looking = gauge(world, told)
    looking.look(world.ledger.now())
    assert told.last("OldestDueSeconds") == 0
    waits = world.run(world.submit(0.0))
    later = world.run(world.submit(60.0))

    looking.look(waits.due_at + timedelta(seconds=20))
    assert told.last("OldestDueSeconds") == 20
    looking.look(later.due_at + timedelta(seconds=1))
    assert told.last("OldestDueSeconds") == pytest.approx(61, abs=1)


def test_it_is_as_old_when_it_has_to_be_called_again_and_again(world: World, told: Told) -> None:
    run = world.run(world.submit(0.0))
    looking = gauge(world, told)
    lease = world.ledger.acquire_lease("watcher", "w1", timedelta(hours=2))
    assert lease is not None
    world.ahead = timedelta(seconds=120)
    world.ledger.advance_watermark(lease, world.ledger.now() - timedelta(seconds=60))
    assert world.ledger.wake(world.ledger.now(), 10)

    looking.look(run.due_at + timedelta(seconds=120))

    assert told.last("OldestDueSeconds") == 120


def test_of_what_is_away_nothing_is_told_and_of_the_rest_all(world: World, told: Told) -> None:
    looking = gauge(world, told)
    with world.seen_queue.away(QueueUnavailable("gone")), pytest.raises(QueueUnavailable):
        looking.look(world.ledger.now())
    assert told.last("OldestDueSeconds") == 0
    assert told.last("QueueDepth") is None
    with world.seen_bus.away(BusUnavailable("gone")), pytest.raises(BusUnavailable):
        looking.look(world.ledger.now())
    assert told.last("QueueDepth") == 0
    assert told.last("Backlog") is None


def test_a_leader_looks_and_counts_as_a_change_once(world: World, told: Told) -> None:
    watcher = world.watcher(rhythm=Rhythm(measure=0.05), gauge=gauge(world, told))
    with watching(watcher):
        eventually(lambda: len([line for line in told.lines if "Backlog" in line]) > 6)
    assert [line["LeaderChanges"] for line in told.lines if "LeaderChanges" in line] == [[1]]


def test_what_a_leader_told_last_is_how_it_left_things(world: World, told: Told) -> None:
    """Perhaps nobody leads for a while, and somebody scales by it."""
    with watching(world.watcher(gauge=gauge(world, told))):
        eventually(lambda: told.last("Backlog") is not None)
        world.submit()
        assert world.receive(1, commit=False)
    assert told.last("Backlog", "default") == 1


def test_who_stands_by_tells_nothing(world: World, told: Told) -> None:
    standing_by = world.watcher("w2", rhythm=Rhythm(measure=0.05), gauge=gauge(world, told))
    with watching(world.watcher("w1")):
        eventually(lambda: world.ledger.lease("watcher"))
        with watching(standing_by):
            asked = world.seen_ledger.calls["lease"]
            eventually(lambda: world.seen_ledger.calls["lease"] > asked + 2)
            assert told.lines == []
