"""Publishing: order, keys, sizes, and an answer that can be trusted."""

import threading
import time

import pytest

from lamplighter.ports.bus import (
    MAX_MESSAGE_BYTES,
    Bus,
    BusUnavailable,
    Capability,
    Message,
    MessageTooLarge,
    UnknownPartition,
    UnknownTopic,
)
from tests.adapters.bus.brokers import (
    NOISE,
    PUBLISH_SECONDS,
    Broker,
    Served,
    needs,
    on_real_brokers,
)
from tests.adapters.bus.play import Play, drain, take, values


@needs(Capability.ORDER)
def test_messages_of_one_key_arrive_in_order(play: Play) -> None:
    topic = play.topic(partitions=4)
    keys = [b"a", b"b", b"c", b"d", b"e"]
    for start in range(0, 300, 60):
        batch = [Message(topic, b"%d" % n, keys[n % 5]) for n in range(start, start + 60)]
        play.bus.publish(batch)
    records = drain(play.consumer(topic), 300)
    for key in keys:
        numbers = [int(record.value) for record in records if record.key == key]
        assert numbers == sorted(numbers)
        assert len({record.partition for record in records if record.key == key}) == 1


@needs(Capability.PARTITIONS)
def test_a_key_has_the_same_partition_on_every_bus(play: Play) -> None:
    """CRC-32 modulo 20: a move from one bus to the other splits no key's history."""
    topic = play.topic(partitions=20)
    play.publish(topic, "x", key=b"0198c0de-0000-8000-8000-000000000001")
    [record] = drain(play.consumer(topic), 1)
    assert record.partition == 0x2D0258E9 % 20


@needs(Capability.PARTITIONS)
def test_a_partition_that_a_message_names_wins_over_its_key(play: Play) -> None:
    topic = play.topic(partitions=5)
    play.bus.publish([Message(topic, b"%d" % n, b"one key", partition=n % 5) for n in range(15)])
    play.bus.publish([Message(topic, b"20", partition=0)])
    records = drain(play.consumer(topic), 16)
    assert [record.partition for record in records] == [int(r.value) % 5 for r in records]
    for partition in range(5):
        numbers = [int(record.value) for record in records if record.partition == partition]
        assert numbers == sorted(numbers)


@needs(Capability.PARTITIONS)
@pytest.mark.parametrize("partition", [3, -1])
def test_a_partition_that_the_topic_has_not_is_an_error(play: Play, partition: int) -> None:
    topic = play.topic(partitions=3)
    with pytest.raises(UnknownPartition, match=f"{topic} has no partition {partition}"):
        play.bus.publish([Message(topic, b"x", b"key", partition=partition)])
    play.bus.publish([Message(topic, b"y", partition=2)])
    assert values(drain(play.consumer(topic), 1)) == ["y"]


def test_a_message_without_a_key_arrives_too(play: Play) -> None:
    topic = play.topic(partitions=3)
    play.publish(topic, "keyless")
    play.bus.publish([Message(topic, b"with an empty key", b"")])
    records = drain(play.consumer(topic), 2)
    assert sorted(values(records)) == ["keyless", "with an empty key"]
    assert {record.key or None for record in records} == {None}


def test_headers_arrive_as_they_were_sent(play: Play) -> None:
    topic = play.topic()
    headers = (("traceparent", b"00-ab-cd-01"), ("twice", b"1"), ("twice", b"\xff\x00"))
    play.bus.publish([Message(topic, b"x", b"key", headers), Message(topic, b"y")])
    records = drain(play.consumer(topic), 2)
    assert {record.value: record.headers for record in records} == {b"x": headers, b"y": ()}


@needs(Capability.ORDER)
def test_offsets_and_times_rise(play: Play) -> None:
    topic = play.topic()
    before = time.time() * 1000
    play.publish(topic, "a", "b")
    play.publish(topic, "c")
    records = drain(play.consumer(topic), 3)
    assert [record.offset for record in records] == [0, 1, 2]
    assert all(before - 1000 < record.timestamp_ms < before + 60_000 for record in records)


def test_one_call_reaches_several_topics(play: Play) -> None:
    one, two = play.topic(), play.topic(partitions=2)
    play.bus.publish([Message(one, b"1"), Message(two, b"2"), Message(one, b"3")])
    assert play.told(drain(play.consumer(one), 2)) == ["1", "3"]
    assert values(drain(play.consumer(two, group="other"), 1)) == ["2"]


def test_a_large_batch_arrives_whole(broker: Broker, play: Play) -> None:
    topic = play.topic(partitions=4)
    play.bus.publish([Message(topic, b"%d" % n, b"%d" % n) for n in range(broker.many)])
    records = drain(play.consumer(topic), broker.many)
    assert {int(record.value) for record in records} == set(range(broker.many))


def test_a_megabyte_is_carried(play: Play) -> None:
    topic = play.topic()
    key, header = b"k" * 100, ("name", b"v" * 96)
    value = b"\xa5" * (MAX_MESSAGE_BYTES - 200)
    play.bus.publish([Message(topic, value, key, (header,))] * 3)
    records = drain(play.consumer(topic), 3)
    assert [record.value for record in records] == [value] * 3


def test_more_than_a_megabyte_is_refused_and_nothing_of_its_batch_is_sent(play: Play) -> None:
    topic = play.topic()
    with pytest.raises(MessageTooLarge, match=f"{MAX_MESSAGE_BYTES + 1:,}"):
        play.bus.publish([Message(topic, b"small"), Message(topic, b"x" * (MAX_MESSAGE_BYTES + 1))])
    assert play.lag(topic) == 0


def test_nothing_to_publish_is_no_error(bus: Bus) -> None:
    bus.publish([])


def test_a_topic_that_nobody_made_is_an_error(broker: Broker) -> None:
    bus = broker.bus(publish_seconds=PUBLISH_SECONDS)
    with pytest.raises(UnknownTopic):
        bus.publish([Message("never-made", b"x")])
    with pytest.raises(UnknownTopic):
        bus.lags("group", ["never-made"])
    bus.close()


def test_a_topic_is_made_once(play: Play) -> None:
    topic = play.topic(partitions=2)
    play.publish(topic, "kept")
    play.bus.ensure_topics([])
    assert values(drain(play.consumer(topic), 1)) == ["kept"]


def test_threads_may_publish_at_once(play: Play) -> None:
    topic = play.topic(partitions=4)

    def publish(name: int) -> None:
        for n in range(20):
            play.publish(topic, f"{name}.{n}", key=b"%d" % name)

    threads = [threading.Thread(target=publish, args=[name]) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(values(drain(play.consumer(topic), 160)))) == 160


@on_real_brokers
def test_a_broker_that_does_not_answer_is_an_error_in_time(broker: Served) -> None:
    bus = broker.bus(publish_seconds=PUBLISH_SECONDS)
    play = Play(bus)
    topic = play.topic()
    play.publish(topic, "before")
    with broker.frozen():
        began = time.monotonic()
        with pytest.raises(BusUnavailable):
            bus.lags("group", [topic], seconds=0.3)
        assert time.monotonic() - began < PUBLISH_SECONDS
        began = time.monotonic()
        with pytest.raises(BusUnavailable):
            play.publish(topic, "meanwhile")
        assert time.monotonic() - began < PUBLISH_SECONDS + NOISE
    # Sent or not, nobody knows; but what is acknowledged is there, and in order.
    play.publish(topic, "after")
    assert values(take(play.consumer(topic), 2))[0] == "before"
    assert play.lag(topic) in {2, 3}
    play.close()
    bus.close()
