"""Tick: what is popped is published once, where nothing holds it up, and only then forgotten."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.contracts.messages import read_run
from lamplighter.contracts.topics import job_runs_topics
from lamplighter.domain.run import Due
from lamplighter.ports.bus import BusUnavailable, Message, Record
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.tick import take_over, tick

PARTITIONS = 5


class FlakyBus(MemoryBus):
    away = False

    def publish(self, batch: Sequence[Message]) -> None:
        if self.away:
            raise BusUnavailable("away")
        super().publish(batch)


class World:
    def __init__(self) -> None:
        topics = job_runs_topics("default", PARTITIONS)
        self.queue, self.bus, self.ledger = MemoryQueue(), FlakyBus(), MemoryLedger()
        self.bus.ensure_topics(topics)
        names = [topic.name for topic in topics]
        self.consumer = self.bus.consumer(executor_group("default"), names)
        self.steady = 0.0
        self.window = Window(self.bus, {"default": 1000}, steady=lambda: self.steady)
        lease = self.ledger.acquire_lease("watcher", "w1", timedelta(seconds=60))
        assert lease
        self.lease, self.now = lease, self.ledger.now()
        self.queue.begin(self.lease.epoch, self.now, self.now)

    def due(self, count: int, priority: int = 5) -> list[UUID]:
        dues = [Due(uuid4(), "tenant", "default", priority, self.now, 0) for _ in range(count)]
        self.queue.add(dues)
        return [due.run_id for due in dues]

    def tick(self, after: float = 0.1) -> list[Record]:
        """What a turn has published, as far as an executor that is free gets it."""
        self.steady += after
        tick(self.queue, self.bus, self.lease, self.now, self.window)
        return self.consumer.poll(1000, 0.0)


@pytest.fixture
def world() -> World:
    return World()


def test_every_run_that_is_due_is_published_once(world: World) -> None:
    due = world.due(23, priority=1) + world.due(31, priority=7)
    records = world.tick()
    assert sorted(read_run(record.value).run_id for record in records) == sorted(due)
    assert {record.topic for record in records} == {"job-runs.p1", "job-runs.p3"}
    assert all(record.key == read_run(record.value).run_id.bytes for record in records)
    assert world.queue.counts().runs == 0


def test_nothing_is_sent_behind_a_run_that_takes_long(world: World) -> None:
    world.due(1)
    [slow] = world.tick()
    for turn in range(40):
        count = 1 + turn % 9
        world.due(count)
        records = world.tick()
        assert len(records) == count
        assert slow.partition not in {record.partition for record in records}
        world.consumer.commit(records)


def test_nor_by_ticks_that_the_bus_is_not_asked_for(world: World) -> None:
    world.due(1)
    [slow] = world.tick()
    lengths = []
    for _ in range(60):
        world.due(7)
        world.consumer.commit(world.tick(after=0.02))
        lengths.append(len(world.bus.logs[slow.place]))
    # Two answers later it is clear which one does not move, and that there are others.
    assert set(lengths[12:]) == {lengths[12]}


def test_once_the_long_run_is_done_its_partition_is_used_again(world: World) -> None:
    world.due(1)
    slow = world.tick()
    world.consumer.commit(slow)
    world.due(PARTITIONS)
    assert {record.partition for record in world.tick()} == set(range(PARTITIONS))


def test_when_all_are_busy_runs_are_published_all_the_same(world: World) -> None:
    world.due(PARTITIONS)
    busy = world.tick()
    world.due(2 * PARTITIONS)
    assert world.tick() == []
    world.consumer.commit(busy)
    waiting = world.consumer.poll(1000, 0.0)
    assert sorted(record.partition for record in waiting) == sorted(2 * [*range(PARTITIONS)])


def test_what_could_not_be_published_is_still_in_flight_for_the_next_leader(world: World) -> None:
    due = world.due(3)
    world.bus.away = True
    with pytest.raises(BusUnavailable):
        world.tick()
    world.bus.away = False
    world.steady += 0.1
    assert take_over(world.queue, world.bus, world.lease, world.window) == 3
    records = world.consumer.poll(1000, 0.0)
    assert sorted(read_run(record.value).run_id for record in records) == sorted(due)
    assert len({record.partition for record in records}) == 3
    assert world.queue.counts().in_flight == 0
