"""Consuming: what is handed out, what counts as done, and what comes again."""

import time

import pytest

from lamplighter.contracts.msk import answer, settle
from lamplighter.ports.bus import Capability, Consumer, Message, Record, UnknownTopic
from tests.adapters.bus.brokers import Broker, needs
from tests.adapters.bus.play import Play, drain, later, take, until, values


def test_an_empty_poll_waits_as_long_as_it_was_told_to(play: Play) -> None:
    consumer = play.consumer(play.topic(partitions=3))
    consumer.poll(10, 1)
    began = time.monotonic()
    assert consumer.poll(10, 0.3) == []
    assert 0.2 < time.monotonic() - began < 2
    assert consumer.poll(10, 0) == []


def test_a_poll_that_does_not_wait_takes_what_is_there(play: Play) -> None:
    topic = play.topic()
    consumer = play.consumer(topic)
    consumer.poll(1, 0.5)
    play.publish(topic, "here")
    until(lambda: values(consumer.poll(10, 0)) == ["here"], "the message")


def test_a_waiting_poll_is_woken_by_a_message(play: Play) -> None:
    topic = play.topic()
    consumer = play.consumer(topic)
    play.publish(topic, "first")
    drain(consumer, 1)
    with later(play.publish, topic, "second"):
        began = time.monotonic()
        assert values(consumer.poll(10, 10)) == ["second"]
        assert time.monotonic() - began < 5


def test_a_poll_brings_no_more_than_asked_for(play: Play) -> None:
    topic = play.topic(partitions=2)
    play.bus.publish([Message(topic, b"%d" % n, b"%d" % n) for n in range(50)])
    consumer = play.consumer(topic)
    seen = 0
    while seen < 50:
        records = consumer.poll(7, 1)
        assert len(records) <= 7
        consumer.commit(records)
        seen += len(records)
    assert seen == 50


@needs(Capability.GROUPS)
def test_two_groups_read_the_same_independently(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, *"abc")
    one, two = play.consumer(topic, group="one"), play.consumer(topic, group="two")
    assert values(drain(one, 3)) == ["a", "b", "c"]
    assert play.lag(topic, "one") == 0
    assert play.lag(topic, "two") == 3
    assert values(drain(two, 3)) == ["a", "b", "c"]


def test_one_consumer_reads_several_topics(play: Play) -> None:
    topics = [play.topic(partitions=2) for _ in range(3)]
    for topic in topics:
        play.publish(topic, topic)
    assert sorted(values(drain(play.consumer(*topics), 3))) == sorted(topics)


def test_what_was_committed_does_not_come_again_and_the_rest_does(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, *"abcd")
    first = play.consumer(topic)
    records = take(first, 4)
    first.commit(records[:2])
    play.leave(first)
    assert play.told(drain(play.consumer(topic), 2)) == sorted(values(records[2:]))


@needs(Capability.PARTITIONS)
def test_a_partition_is_quiet_until_its_batch_is_settled(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, *"abcd")
    consumer = play.consumer(topic)
    records = take(consumer, 2)
    assert consumer.poll(10, 0.3) == []
    consumer.commit(records[:1])
    assert consumer.poll(10, 0.3) == []
    consumer.commit(records)
    assert values(drain(consumer, 2)) == ["c", "d"]


@needs(Capability.PARTITIONS)
def test_while_one_partition_is_handled_the_others_go_on(play: Play) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, "slow", key=_key(0))
    consumer = play.consumer(topic)
    [slow] = take(consumer, 1)
    play.publish(topic, "next", key=_key(0))
    for n in range(5):
        play.publish(topic, f"quick {n}", key=_key(1))
        assert values(drain(consumer, 1)) == [f"quick {n}"]
    consumer.commit([slow])
    assert values(drain(consumer, 1)) == ["next"]


def test_another_thread_may_commit_while_one_polls(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, "first", "second")
    consumer = play.consumer(topic)
    first = take(consumer, 1)
    with later(consumer.commit, first):
        began = time.monotonic()
        assert play.told(first + consumer.poll(1, 10)) == ["first", "second"]
        assert time.monotonic() - began < 5


@needs(Capability.PARTITIONS)
def test_another_thread_may_rewind_while_one_polls(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, "first", "second")
    consumer = play.consumer(topic)
    first = take(consumer, 1)
    with later(consumer.rewind, first):
        assert values(consumer.poll(1, 10)) == ["first"]


def test_a_rewind_brings_everything_from_there_on_again(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, *"abcdef")
    consumer = play.consumer(topic)
    records = take(consumer, 4)
    consumer.commit(records[:1])
    consumer.rewind(records[1:])
    [done] = values(records[:1])
    assert play.told(drain(consumer, 5)) == [each for each in "abcdef" if each != done]


@needs(Capability.PARTITIONS)
def test_a_rewind_of_one_partition_leaves_the_others_alone(play: Play) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, *"ab", key=_key(0))
    play.publish(topic, *"xy", key=_key(1))
    consumer = play.consumer(topic)
    records = take(consumer, 4)
    consumer.rewind([record for record in records if record.value == b"b"])
    consumer.commit([record for record in records if record.partition == 1])
    assert values(drain(consumer, 1)) == ["b"]
    assert consumer.poll(10, 0.2) == []


def test_a_partial_failure_is_delivered_again_from_the_failure_on(play: Play) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, *"abcd", key=_key(0))
    play.publish(topic, *"wxyz", key=_key(1))
    consumer = play.consumer(topic)
    handled: list[Record] = []
    broken = {b"c"}
    while len({each.value for each in handled}) < 8 or broken:
        records = consumer.poll(100, 1)
        failed = [record for record in records if record.value in broken]
        settled = settle(records, answer(failed))
        consumer.commit(settled.done)
        consumer.rewind(settled.again)
        handled += settled.done
        if failed:
            broken.clear()
    assert [value for value in play.told(handled) if value in "abcd"] == ["a", "b", "c", "d"]
    assert [value for value in play.told(handled) if value in "wxyz"] == ["w", "x", "y", "z"]


def test_a_poison_message_blocks_nobody_once_it_is_put_aside(play: Play) -> None:
    topic, dead = play.topic(), play.topic()
    play.publish(topic, "good", "poison", "good too")
    consumer = play.consumer(topic)
    assert play.told(_handled(play, consumer, dead, 2)) == ["good", "good too"]
    assert play.lag(topic) == 0
    assert values(drain(play.consumer(dead, group="redrive"), 1)) == ["poison"]


def _handled(play: Play, consumer: Consumer, dead: str, wanted: int) -> list[Record]:
    """A handler that puts aside what it cannot read, and goes on."""
    good: list[Record] = []
    while len(good) < wanted:
        records = consumer.poll(10, 1)
        poison = [record for record in records if record.value == b"poison"]
        play.bus.publish([Message(dead, record.value, record.key) for record in poison])
        consumer.commit(records)
        good += [record for record in records if record not in poison]
    return good


def test_lag_counts_what_was_not_committed(play: Play) -> None:
    topic = play.topic(partitions=3)
    assert play.lag(topic) == 0
    play.bus.publish([Message(topic, b"%d" % n, b"%d" % n) for n in range(30)])
    assert play.lag(topic) == 30
    consumer = play.consumer(topic)
    records = take(consumer, 30)
    assert play.lag(topic) == 30
    consumer.commit([record for record in records if record.partition == 0])
    others = [record for record in records if record.partition != 0]
    assert play.lag(topic) == len(others)
    consumer.commit(others)
    assert play.lag(topic) == 0


@needs(Capability.PARTITIONS)
def test_lags_tell_partitions_apart(play: Play) -> None:
    one, other = play.topic(partitions=3), play.topic(partitions=2)
    numbers = [0, 2, 2, 2]
    play.bus.publish([Message(one, b"x", partition=n) for n in numbers])
    play.bus.publish([Message(other, b"y", partition=1)])
    consumer = play.consumer(one)
    records = take(consumer, 4)
    counts = {(one, 0): 1, (one, 1): 0, (one, 2): 3, (other, 0): 0, (other, 1): 1}
    assert play.bus.lags("group", [one, other]) == counts
    consumer.commit([record for record in records if record.partition == 0])
    assert play.bus.lags("group", [one, other]) == counts | {(one, 0): 0}
    consumer.commit([record for record in records if record.partition == 2][:2])
    assert play.bus.lags("group", [one]) == {(one, 0): 0, (one, 1): 0, (one, 2): 1}
    assert play.bus.lags("group", []) == {}


def test_a_commit_never_goes_back(play: Play) -> None:
    topic = play.topic()
    play.publish(topic, *"abc")
    consumer = play.consumer(topic)
    records = take(consumer, 3)
    consumer.commit(records[:2])
    consumer.commit(records[:1])
    assert play.lag(topic) == 1
    consumer.commit(records)
    consumer.commit(records[:1])
    assert play.lag(topic) == 0


def test_settling_nothing_is_no_error(play: Play) -> None:
    consumer = play.consumer(play.topic())
    consumer.commit([])
    consumer.rewind([])


def test_a_topic_that_nobody_made_cannot_be_read(broker: Broker) -> None:
    play = Play(broker.bus())
    with pytest.raises(UnknownTopic):
        play.consumer("never-made").poll(1, 10)
    play.close()


def _key(partition: int) -> bytes:
    """A key of that partition, where there are two."""
    return {0: b"d", 1: b"a"}[partition]
