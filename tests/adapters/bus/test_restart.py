"""The broker goes and comes back. One restart for all that is to be seen: Kafka takes its time."""

import threading
import time
from collections.abc import Callable

import pytest

from lamplighter.ports.bus import BusUnavailable, Consumer, Record
from tests.adapters.bus.brokers import (
    NOISE,
    PUBLISH_SECONDS,
    SESSION_SECONDS,
    Served,
    on_real_brokers,
)
from tests.adapters.bus.play import Play, drain, take, until, values


class Publisher(threading.Thread):
    """Publishes once, in the background, and remembers how that ended."""

    def __init__(self, play: Play, topic: str) -> None:
        super().__init__()
        self._play, self._topic = play, topic
        self.problem: BusUnavailable | None = None

    def run(self) -> None:
        try:
            self._play.publish(self._topic, "patient", key=b"key")
        except BusUnavailable as problem:
            self.problem = problem


@on_real_brokers
def test_a_restart_of_the_broker_loses_nothing_and_needs_no_new_clients(broker: Served) -> None:
    patient = Play(broker.bus(publish_seconds=60.0))
    hasty = Play(broker.bus(publish_seconds=PUBLISH_SECONDS))
    topic = patient.topic(partitions=2)
    consumer = patient.consumer(topic)
    patient.publish(topic, "read", key=b"key")
    assert drain(consumer, 1)
    patient.publish(topic, "in hand", key=b"key")
    in_hand = take(consumer, 1)
    hasty.publish(topic, "unread", key=b"key")

    publisher = Publisher(patient, topic)
    with broker.stopped():
        fails_within(PUBLISH_SECONDS + NOISE, lambda: hasty.publish(topic, "meanwhile", key=b"key"))
        fails_within(SESSION_SECONDS + NOISE, lambda: consumer.commit(in_hand))
        fails_within(15, lambda: hasty.lag(topic))
        assert consumer.poll(10, 0.2) == []
        publisher.start()
    publisher.join()

    assert publisher.problem is None
    until(lambda: settled(consumer, in_hand), "the commit is taken")
    # The outage was longer than a session: what was in hand may come again, the rest comes once.
    arrived = values(drain(consumer, 2))
    if arrived[0] == "in hand":
        arrived = arrived[1:] + values(drain(consumer, 3 - len(arrived)))
    assert arrived == ["unread", "patient"]
    until(lambda: patient.lag(topic) == 0, "the group is done with all of it")
    for play in (patient, hasty):
        play.close()
        play.bus.close()


def settled(consumer: Consumer, records: list[Record]) -> bool:
    """Whoever failed to commit still has it in hand; a broker that gets up may say no again."""
    try:
        consumer.commit(records)
    except BusUnavailable:
        return False
    return True


def fails_within(seconds: float, call: Callable[[], object]) -> None:
    began = time.monotonic()
    with pytest.raises(BusUnavailable):
        call()
    assert time.monotonic() - began < seconds
