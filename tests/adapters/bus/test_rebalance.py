"""Members come, go and die; each partition has one reader at a time, and nothing is lost."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lamplighter.ports.bus import Bus, Capability, Consumer, Message, Record
from tests.adapters.bus.brokers import (
    NOISE,
    SESSION_SECONDS,
    SHORT_SESSION,
    Broker,
    Served,
    needs,
    on_brokers_with_sessions,
    on_real_brokers,
)
from tests.adapters.bus.play import Play, drain, take, until, values

ROOT = Path(__file__).parents[3]
A_MINUTE = 60.0


class Reader(threading.Thread):
    """Polls, handles and commits until it is told to stop; sees who else has the same record."""

    in_hand: set[tuple[str, int, int]]

    def __init__(self, play: Play, topic: str, in_hand: set[tuple[str, int, int]]) -> None:
        super().__init__()
        self.consumer = play.consumer(topic)
        self.in_hand = in_hand
        self.seen: list[Record] = []
        self.twice_at_once: list[Record] = []
        self.pause = 0.0
        self._stop_now = threading.Event()

    def run(self) -> None:
        while not self._stop_now.is_set():
            records = self.consumer.poll(5, 0.05)
            marks = {(each.topic, each.partition, each.offset) for each in records}
            if marks & self.in_hand:
                self.twice_at_once += records
            self.in_hand |= marks
            self.seen += records
            self._stop_now.wait(self.pause if records else 0)
            self.in_hand -= marks
            self.consumer.commit(records)

    def stop(self) -> None:
        self._stop_now.set()
        self.join()

    def partitions(self) -> set[int]:
        return {record.partition for record in self.seen}


@needs(Capability.PARTITIONS)
def test_a_second_consumer_gets_its_share(play: Play) -> None:
    topic = play.topic(partitions=4)
    in_hand: set[tuple[str, int, int]] = set()
    one = Reader(play, topic, in_hand)
    one.start()
    _spread(play, topic)
    until(lambda: one.partitions() == {0, 1, 2, 3}, "one reads all partitions")
    two = Reader(play, topic, in_hand)
    two.start()

    def both_at_work() -> bool:
        one.seen.clear()
        two.seen.clear()
        _spread(play, topic)
        time.sleep(0.05)
        return len(one.partitions()) == len(two.partitions()) == 2

    until(both_at_work, "each reads two")
    one.stop()
    two.stop()
    assert one.twice_at_once == two.twice_at_once == []


@needs(Capability.PARTITIONS)
def test_whoever_leaves_leaves_its_partitions_to_the_others_at_once(play: Play) -> None:
    topic = play.topic(partitions=4)
    one, two = play.consumer(topic), play.consumer(topic)
    _share(one, two, play, topic)
    play.leave(one)
    _spread(play, topic)
    began = time.monotonic()
    assert {record.partition for record in drain(two, 4)} == {0, 1, 2, 3}
    assert time.monotonic() - began < 5


@on_brokers_with_sessions
def test_who_handles_a_record_for_long_keeps_it_while_another_joins(
    broker: Broker, play: Play
) -> None:
    """Longer than a session: a handler is not dead because it is slow."""
    topic = play.topic(partitions=2)
    play.publish(topic, "slow", key=b"a")
    one = play.consumer(topic, session=SESSION_SECONDS)
    [slow] = take(one, 1)
    two = play.consumer(topic)
    ends = time.monotonic() + 1.5 * SESSION_SECONDS
    while time.monotonic() < ends:
        assert two.poll(10, 0.1) == []
    one.commit([slow])
    play.publish(topic, "next", key=b"a")
    assert values(_first_of(one, two)) == ["next"]


@pytest.mark.kafka
def test_a_handler_of_a_minute_keeps_its_record_as_others_come_and_go(
    own_kafka: Served, own_valkey: Served
) -> None:
    """As shipped, with sessions of ten seconds; over both at once, since it is a minute of each."""
    with ThreadPoolExecutor() as both:
        list(both.map(_handle_for_a_minute, (own_kafka, own_valkey)))


def _handle_for_a_minute(broker: Served) -> None:
    with closing(broker.bus()) as bus, closing(Play(bus)) as play:
        topic = play.topic(partitions=2)
        play.publish(topic, "slow", key=b"a")
        with closing(bus.consumer("group", [topic])) as one:
            [slow] = take(one, 1)
            ends = time.monotonic() + A_MINUTE
            while time.monotonic() < ends:
                _come_and_go(bus, topic)
            one.commit([slow])
            play.publish(topic, "next", key=b"a")
            assert values(drain(one, 1)) == ["next"]


def _come_and_go(bus: Bus, topic: str) -> None:
    """Another member joins, gets nothing of what is in hand for two sessions, and leaves."""
    with closing(bus.consumer("group", [topic])) as other:
        ends = time.monotonic() + A_MINUTE / 3
        while time.monotonic() < ends:
            assert other.poll(10, 1.0) == []


@on_real_brokers
def test_a_poller_beside_a_long_handler_gives_the_idle_partitions_away(
    broker: Served, play: Play
) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, "slow", key=b"a")
    one = play.consumer(topic)
    [slow] = take(one, 1)
    handler = threading.Timer(SESSION_SECONDS, one.commit, [[slow]])
    handler.start()
    two = Reader(play, topic, set())
    two.start()
    play.publish(topic, "quick", key=b"d")
    seen: list[Record] = []

    def read() -> bool:
        records = one.poll(10, 0.05)
        one.commit(records)
        seen.extend(records)
        return "quick" in values(seen + two.seen)

    until(read, "somebody reads the partition that is not being handled")
    handler.join()
    play.publish(topic, "done", key=b"a")
    until(lambda: (read(), "done" in values(seen + two.seen))[1], "the slow one's successor")
    two.stop()
    assert values(seen + two.seen).count("slow") == 0


@needs(Capability.PARTITIONS)
def test_no_record_is_with_two_at_once_while_members_come_and_go(play: Play) -> None:
    topic = play.topic(partitions=6)
    in_hand: set[tuple[str, int, int]] = set()
    readers = [Reader(play, topic, in_hand) for _ in range(2)]
    for reader in readers:
        reader.pause = 0.02
        reader.start()
    for turn in range(12):
        play.bus.publish([Message(topic, b"%d.%d" % (turn, n), b"%d" % n) for n in range(50)])
        if turn == 3:
            readers.append(Reader(play, topic, in_hand))
            readers[-1].start()
        if turn == 7:
            readers[0].stop()
            play.leave(readers[0].consumer)
    until(lambda: play.lag(topic) == 0, "all is read")
    for reader in readers[1:]:
        reader.stop()
    records = [record for reader in readers for record in reader.seen]
    assert {(r.partition, r.offset) for r in records} == _all_offsets(records)
    assert len({r.value for r in records}) == 600
    assert [reader.twice_at_once for reader in readers] == [[], [], []]


@on_real_brokers
def test_what_a_killed_consumer_had_in_hand_comes_again(broker: Served, play: Play) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, *"abc", key=b"a")
    command = [sys.executable, "-m", "tests.adapters.bus.lingering"]
    victim = subprocess.Popen(
        [*command, broker.kind, broker.url, "group", topic],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert victim.stdout
    given = victim.stdout.readline().split()
    assert given[:1] == ["a"]
    victim.kill()
    victim.wait()
    victim.stdout.close()
    began = time.monotonic()
    assert values(drain(play.consumer(topic), 3)) == ["a", "b", "c"]
    assert time.monotonic() - began < SHORT_SESSION + NOISE


@on_brokers_with_sessions
def test_a_handler_that_never_ends_loses_its_records(broker: Broker, play: Play) -> None:
    topic = play.topic()
    play.publish(topic, "stuck")
    stuck = play.consumer(topic, session=SHORT_SESSION, handling=2 * SHORT_SESSION)
    records = take(stuck, 1)
    other = play.consumer(topic, handling=2 * SESSION_SECONDS)
    assert values(drain(other, 1)) == ["stuck"]
    play.publish(topic, "next")
    stuck.commit(records)
    assert play.lag(topic) == 1


def _spread(play: Play, topic: str) -> None:
    """At least one message in each of four partitions."""
    play.bus.publish([Message(topic, b"x", key) for key in (b"4", b"0", b"5", b"1")])


def _share(one: Consumer, two: Consumer, play: Play, topic: str) -> None:
    """Poll both until each has read something of what was spread in the same moment."""
    deadline = time.monotonic() + 20
    counts = (0, 0)
    while 0 in counts:
        assert time.monotonic() < deadline
        _spread(play, topic)
        found = one.poll(100, 0.2), two.poll(100, 0.2)
        one.commit(found[0])
        two.commit(found[1])
        counts = len(found[0]), len(found[1])
    while play.lag(topic):
        for each in (one, two):
            each.commit(each.poll(100, 0.05))


def _first_of(*consumers: Consumer) -> list[Record]:
    deadline = time.monotonic() + 20
    while True:
        for consumer in consumers:
            if records := consumer.poll(10, 0.05):
                consumer.commit(records)
                return records
        assert time.monotonic() < deadline


def _all_offsets(records: list[Record]) -> set[tuple[int, int]]:
    ends: dict[int, int] = {}
    for record in records:
        ends[record.partition] = max(ends.get(record.partition, 0), record.offset + 1)
    return {(partition, offset) for partition, end in ends.items() for offset in range(end)}
