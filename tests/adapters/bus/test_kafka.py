"""What only Kafka has to prove: its settings, tokens, and a producer that is beyond repair."""

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import Message as Sent

from lamplighter.adapters.kafka import admin
from lamplighter.adapters.kafka import bus as module
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import (
    KafkaAccess,
    client_config,
    consumer_config,
    producer_config,
    topic_config,
)
from lamplighter.ports.bus import MAX_MESSAGE_BYTES, BusUnavailable, Message, Topic

ACCESS = KafkaAccess("broker:9098")


def test_without_a_token_the_connection_is_plain() -> None:
    assert not {"sasl.mechanism", "security.protocol"} & client_config(ACCESS).keys()


def test_with_a_token_provider_the_connection_is_encrypted_and_asks_it() -> None:
    asked: list[int] = []

    def token() -> tuple[str, float]:
        asked.append(1)
        return "a token", 1_800_000_000.0

    for config in (
        producer_config(KafkaAccess("broker:9098", token), publish_seconds=10),
        consumer_config(
            KafkaAccess("broker:9098", token), group="g", session_seconds=10, handling_seconds=60
        ),
    ):
        assert config["security.protocol"] == "SASL_SSL"
        assert config["sasl.mechanism"] == "OAUTHBEARER"
        assert config["oauth_cb"]("") == ("a token", 1_800_000_000.0)
    assert len(asked) == 2


def test_the_library_takes_the_settings_and_asks_for_a_token() -> None:
    """Without a broker: a setting that it does not know would be refused here."""
    asked: list[int] = []

    def token() -> tuple[str, float]:
        asked.append(1)
        return "e30.e30.", 4_000_000_000.0

    bus = KafkaBus(KafkaAccess("127.0.0.1:1", token), publish_seconds=0.2)
    with pytest.raises(BusUnavailable):
        bus.publish([Message("topic", b"x")])
    assert asked
    bus.close()


def test_everything_is_acknowledged_by_all_and_written_once() -> None:
    config = producer_config(ACCESS, publish_seconds=10)
    assert (config["acks"], config["enable.idempotence"]) == ("all", True)
    assert config["max.in.flight"] == 1, "the first batch for a new partition may be lost"
    assert config["delivery.timeout.ms"] == 10_000


def test_a_session_is_short_and_a_handler_may_be_long() -> None:
    config = consumer_config(ACCESS, group="g", session_seconds=10, handling_seconds=960)
    assert (config["session.timeout.ms"], config["max.poll.interval.ms"]) == (10_000, 960_000)
    assert config["enable.auto.commit"] is False
    assert config["partition.assignment.strategy"] == "cooperative-sticky"


def test_the_largest_message_fits_into_a_topic() -> None:
    assert int(topic_config(retention_hours=1)["max.message.bytes"]) > MAX_MESSAGE_BYTES
    assert topic_config(retention_hours=2)["retention.ms"] == "7200000"


class Broken:
    """A producer after an error that it does not recover from."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config

    def produce(self, *_arguments: object, on_delivery: Any, **_options: object) -> None:
        fatal = KafkaError(KafkaError._FENCED, "another has our id", fatal=True)
        on_delivery(fatal, Sent(topic="topic", partition=0))

    def flush(self, timeout: float) -> int:
        return int(timeout * 0)


def test_a_producer_that_is_beyond_repair_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Producer", Broken)
    bus: Any = KafkaBus(ACCESS)
    first = bus._producer
    with pytest.raises(BusUnavailable, match="another has our id"):
        bus.publish([Message("topic", b"x")])
    assert bus._producer is not first


class _SlowBrokers:
    """They hear of a topic only after so many questions."""

    def __init__(self, questions: int) -> None:
        self.left = questions

    def create_topics(self, wanted: Sequence[Any], **_: Any) -> dict[str, Any]:
        made: Future[None] = Future()
        made.set_result(None)
        return {topic.topic: made for topic in wanted}

    def list_topics(self, **_: Any) -> Any:
        self.left -= 1
        known = {} if self.left >= 0 else {"news": SimpleNamespace(error=None)}
        return SimpleNamespace(topics=known)


def test_a_topic_is_there_when_the_brokers_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = _SlowBrokers(3)
    monkeypatch.setattr(admin, "AdminClient", lambda _: brokers)
    topics = admin.KafkaTopics(ACCESS, replicas=1, answer_seconds=30)

    topics.ensure([Topic("news", 1, "nothing")])

    assert brokers.left < 0


def test_brokers_that_never_hear_of_a_topic_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "AdminClient", lambda _: _SlowBrokers(10_000))
    topics = admin.KafkaTopics(ACCESS, replicas=1, answer_seconds=0.2)

    with pytest.raises(BusUnavailable, match="news"):
        topics.ensure([Topic("news", 1, "nothing")])
