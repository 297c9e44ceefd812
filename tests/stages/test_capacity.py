"""The window: how many runs a pool has room for, in which partitions, and how rarely it asks.

Time is a number that a test moves.
"""

import math
from collections.abc import Sequence
from uuid import uuid4

import pytest

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.contracts.topics import job_runs, job_runs_topics
from lamplighter.domain.policy import JobClass
from lamplighter.ports.bus import COUNT_SECONDS, BusUnavailable, Message, Place, UnknownTopic
from lamplighter.ports.queue import Ready
from lamplighter.stages.capacity import Window, executor_group

GROUP = executor_group("default")
P2 = job_runs("default", JobClass.P2)
PARTITIONS = 4


class WatchedBus(MemoryBus):
    """Counts the questions, and is away when told so."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.away = False

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        self.asked.append(group)
        if self.away:
            raise BusUnavailable("away")
        return super().lags(group, topics, seconds=seconds)


class World:
    def __init__(self, **windows: int) -> None:
        self.bus = WatchedBus()
        self.now = 1000.0
        pools = windows or {"default": 100}
        for pool in pools:
            self.bus.ensure_topics(job_runs_topics(pool, PARTITIONS))
        self.window = Window(self.bus, pools, steady=lambda: self.now)

    def place(self, runs: Sequence[Ready]) -> list[int | None]:
        """As a leader does: it asks how much is free before it sends anything."""
        self.window.free()
        return self.window.place(runs)

    def publish(self, *partitions: int | None, topic: str = P2) -> None:
        self.bus.publish([Message(topic, b"run", partition=n) for n in partitions])

    def ticks(self, seconds: float) -> int:
        """Look for room every 20 ms, as a leader does; how often that reached the bus."""
        before = len(self.bus.asked)
        for _ in range(round(seconds / 0.02)):
            self.now += 0.02
            self.window.free()
        return len(self.bus.asked) - before


def runs(count: int, pool: str = "default", priority: int = 5) -> list[Ready]:
    return [Ready(uuid4(), 0, priority, pool, "tenant") for _ in range(count)]


def test_runs_that_come_one_by_one_take_partitions_in_turn() -> None:
    world = World()
    places: list[int | None] = []
    for _ in range(2 * PARTITIONS):
        world.now += 10.0  # each is finished long before the next
        places += world.place(runs(1))
    assert places == [0, 3, 2, 1, 0, 3, 2, 1]


def test_a_chunk_stays_together_and_the_next_begins_where_it_ended() -> None:
    world = World()
    assert world.place(runs(6)) == [0, 0, 3, 3, 2, 1]
    world.now += 10.0
    assert world.place(runs(2)) == [0, 3]
    world.now += 10.0
    assert world.place(runs(3)) == [2, 1, 0]


def test_what_fills_the_window_goes_out_in_batches_as_large_as_a_partition_may_have() -> None:
    world = World()
    assert set(world.place(runs(100))) == {0, 1, 2, 3}
    world = World()
    world.publish(*[0] * 60)
    assert world.place(runs(40)) == [3] * 20 + [2] * 20


def test_a_large_window_opens_no_further_than_the_pool_keeps_pace() -> None:
    world = World(default=10_000)
    assert world.window.free() == {"default": 2_000}
    consumer = world.bus.consumer(GROUP, [P2])
    for _ in range(20):  # 2,000 in a tenth of a second, again and again
        world.publish(*world.place(runs(2_000)))
        consumer.commit(consumer.poll(2_000, 1.0))
        world.now += 0.1
        world.window.free()
    assert 9_900 <= world.window.free()["default"] <= 10_000

    world.publish(*world.place(runs(10)))  # and these take their time
    world.ticks(2.0)
    assert world.window.free() == {"default": 1_990}


def test_runs_that_are_quick_go_out_in_larger_batches() -> None:
    world = World(default=2_000)
    consumer = world.bus.consumer(GROUP, [P2])
    first = world.place(runs(2_000))
    for _ in range(20):
        world.now += 0.1
        world.window.free()
        world.publish(*world.place(runs(2_000)))
        consumer.commit(consumer.poll(2_000, 1.0))
    world.now += 0.1
    later = world.place(runs(2_000))

    assert sorted(first.count(n) for n in set(first)) == [500, 500, 500, 500]
    assert min(later.count(n) for n in set(later)) > 600


def test_where_many_are_due_at_once_batches_are_longer_and_few_stay_spread_out() -> None:
    world = World(default=10_000)
    consumer = world.bus.consumer(GROUP, [P2])
    for _ in range(20):  # 800 in a tenth of a second
        world.publish(*world.place(runs(800)))
        consumer.commit(consumer.poll(800, 1.0))
        world.now += 0.1
        world.window.free()

    assert len(set(world.place(runs(790)))) == 2  # what it does in 50 ms each
    world.now += 0.1
    world.window.free()
    assert len(set(world.place(runs(2_000)))) == 2  # in 150 ms


def work_off(world: World, count: int, seconds: float) -> None:
    """So many runs go out at once, and are done after a while."""
    consumer = world.bus.consumer(GROUP, [P2])
    world.publish(*world.place(runs(count)))
    consumer.commit(consumer.poll(count, 1.0))
    consumer.close()
    world.now += seconds
    world.window.free()


def test_what_is_due_every_minute_goes_out_in_batches_as_it_did_the_minute_before() -> None:
    world = World(default=10_000)
    assert len(set(world.place(runs(1)))) == 1
    world.now += 0.1
    work_off(world, 1_000, 0.2)
    world.ticks(60.0)
    assert len(set(world.place(runs(1_000)))) == 3  # half of 5,000 a second, 150 ms each


def test_pace_is_counted_from_when_there_was_work_and_not_from_the_last_question() -> None:
    world = World(default=10_000)
    world.window.free()
    world.now += 4.0
    work_off(world, 1_000, 0.2)
    assert world.window.paces() == {"default": pytest.approx(5_000)}


def test_a_leader_begins_with_what_the_last_one_knew_of_the_pools() -> None:
    world = World(default=10_000)
    world.window.believe({"default": 2_000.0, "gone": 1.0})
    assert world.window.paces() == {"default": 2_000.0}
    assert len(set(world.place(runs(1_000)))) == 4
    world.window.believe({"default": 10.0})
    assert world.window.paces()["default"] > 10.0


def test_a_look_is_worth_while_soon_after_work_has_begun_and_then_ever_later() -> None:
    world = World()
    assert world.window.look_in() == math.inf
    world.publish(*world.place(runs(1)))
    looks: list[float] = []
    while len(looks) < 4:
        looks.append(world.window.look_in())
        world.now += looks[-1]
        world.window.free()
    assert looks == pytest.approx([0.1, 0.1, 0.2, 0.4])


def test_a_bus_that_is_away_is_no_reason_to_look() -> None:
    world = World()
    world.publish(*world.place(runs(1)))
    world.bus.away = True
    world.now += 0.1
    world.window.free()
    assert world.window.look_in() == pytest.approx(1.0)


def test_each_class_and_pool_has_partitions_of_its_own() -> None:
    world = World(default=100, tasks=100)
    some = [*runs(1, priority=1), *runs(1, priority=9), *runs(1, "tasks"), *runs(2, priority=1)]
    assert world.place(some) == [0, 0, 0, 3, 2]


def test_a_partition_with_something_unfinished_is_left_alone_while_others_are_idle() -> None:
    world = World()
    world.publish(0, 2)
    assert set(world.place(runs(50))) == {1, 3}


def test_what_lambdas_mappings_have_done_is_asked_of_each_ones_own_group() -> None:
    world = World(default=100, tasks=100)
    window = Window(
        world.bus, {"default": 100, "tasks": 100}, mapped=["default"], steady=lambda: world.now
    )
    world.publish(0, 1, 2)
    mapping = world.bus.consumer(f"{GROUP}.{P2}", [P2])
    mapping.commit(mapping.poll(10, 1.0)[:1])

    assert window.free() == {"default": 98, "tasks": 100}
    of_default = [group for group in world.bus.asked if group != executor_group("tasks")]
    assert len(set(of_default)) == 4


def test_a_large_window_keeps_places_for_who_asks_for_little() -> None:
    world = World(default=2_000)
    assert world.window.free() == {"default": 1_990}
    assert world.window.kept() == {"default": 10}
    world.place(runs(1_990))
    assert (world.window.free(), world.window.kept()) == ({"default": 0}, {"default": 10})
    world.place(runs(4))
    assert (world.window.free(), world.window.kept()) == ({"default": 0}, {"default": 6})
    world.place(runs(20))
    assert (world.window.free(), world.window.kept()) == ({"default": 0}, {"default": 0})
    assert World(default=100).window.kept() == {"default": 0}


def test_a_flood_leaves_a_partition_in_ten_to_who_asks_for_little() -> None:
    world = World()
    world.bus.ensure_topics(job_runs_topics("wide", 20))
    window = Window(world.bus, {"wide": 10_000}, steady=lambda: world.now)
    window.free()
    flood = set(window.place(runs(2_000, "wide")))
    assert len(flood) == 18
    assert set(window.place(runs(500, "wide"))) <= flood
    other = Ready(uuid4(), 0, 5, "wide", "other")
    *others, mine = window.place([*runs(500, "wide"), other])
    assert set(others) <= flood
    assert mine not in flood


def test_what_was_sent_counts_until_the_bus_is_asked_again() -> None:
    world = World()
    assert world.window.free() == {"default": 100}
    world.place(runs(60))
    assert world.window.free() == {"default": 40}
    world.publish(*[0] * 10)
    world.now += 0.1
    assert world.window.free() == {"default": 90}


def test_a_full_pool_has_no_room_and_another_one_does() -> None:
    world = World(default=10, tasks=5)
    world.place(runs(12))
    assert world.window.free() == {"default": 0, "tasks": 5}


def test_a_pool_at_rest_is_hardly_ever_asked_for() -> None:
    world = World()
    assert world.ticks(60.0) in {12, 13}
    assert world.ticks(4.0) <= 1


def test_a_pool_at_work_is_asked_for_ten_times_a_second_until_it_is_done() -> None:
    world = World()
    consumer = world.bus.consumer(GROUP, [P2])
    world.window.free()
    world.publish(*world.place(runs(1)))
    assert 8 <= world.ticks(1.0) <= 10
    consumer.commit(consumer.poll(10, 1.0))
    assert world.ticks(4.0) <= 1


def test_only_the_pool_that_works_is_asked_for() -> None:
    world = World(default=10, tasks=10)
    world.window.free()
    world.bus.asked.clear()
    world.place(runs(1))
    world.publish(0)
    world.ticks(1.0)
    assert set(world.bus.asked) == {GROUP}


def test_a_bus_that_is_away_changes_nothing_that_is_known() -> None:
    world = World()
    world.publish(0, 0, 1)
    assert world.window.free() == {"default": 97}
    world.bus.away = True
    assert world.ticks(1.0) <= 2  # it may take its time to say that it is away
    assert world.window.free() == {"default": 97}
    assert set(world.place(runs(8))) == {2, 3}
    world.bus.away = False
    world.now += 1.0
    assert world.window.free() == {"default": 97}


def test_a_bus_that_is_away_is_asked_for_one_pool_and_not_for_all() -> None:
    """Each question may take half a second, and the lease must be renewed in between."""
    world = World(default=10, tasks=10, more=10)
    world.bus.away = True
    world.window.free()
    assert len(world.bus.asked) == 1
    world.bus.away = False
    world.now += 1.0
    world.window.free()
    assert len(world.bus.asked) == 4


def test_while_the_bus_has_never_answered_keys_decide_and_runs_count() -> None:
    world = World()
    world.bus.away = True
    assert world.place(runs(3)) == [None, None, None]
    assert world.window.free() == {"default": 97}
    world.bus.away = False
    world.publish(None)
    world.now += 1.0
    assert world.window.free() == {"default": 99}


def test_runs_of_a_pool_without_a_window_go_by_their_key() -> None:
    assert World().window.place(runs(2, "elsewhere")) == [None, None]


def test_a_topic_that_nobody_made_is_said_at_once() -> None:
    with pytest.raises(UnknownTopic):
        Window(MemoryBus(), {"default": 1}).free()
