"""The bus on Kafka: one producer per process, topics, and how far groups have come."""

import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Sent

from lamplighter.adapters.kafka.admin import KafkaTopics
from lamplighter.adapters.kafka.config import KafkaAccess, consumer_config, made, producer_config
from lamplighter.adapters.kafka.consumer import KafkaConsumer
from lamplighter.ports.bus import (
    COUNT_SECONDS,
    EVERYTHING,
    BusUnavailable,
    Message,
    Place,
    Topic,
    UnknownPartition,
    UnknownTopic,
    check_sizes,
    no_partition,
)

# Several threads may publish at once, and each waits for the queue of all to be empty. This is
# how often it looks whether its own messages are through already.
_LOOK_SECONDS: Final = 0.01
_NO_SUCH_TOPIC: Final = {KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART}  # noqa: SLF001
_NO_SUCH_PARTITION: Final = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001
_BY_KEY: Final = -1


class KafkaBus:
    """Connects at once, in the background: an idempotent producer needs half a second for that."""

    capabilities = EVERYTHING

    def __init__(
        self, access: KafkaAccess, *, publish_seconds: float = 10.0, replicas: int = -1
    ) -> None:
        self._access = access
        self._publish_seconds = publish_seconds
        self._config = producer_config(access, publish_seconds=publish_seconds)
        self._producer = made(Producer, self._config)
        self._topics = KafkaTopics(access, replicas=replicas, answer_seconds=publish_seconds)

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        self._topics.ensure(topics)

    def publish(self, batch: Sequence[Message]) -> None:
        check_sizes(batch)
        producer = self._producer
        receipt = _Receipt(len(batch))
        deadline = time.monotonic() + self._publish_seconds
        for message in batch:
            _enqueue(producer, message, receipt, deadline)
        # The library gives each message up at its own deadline and reports it. Ours is behind
        # that, so that what comes back is its reason and not our impatience.
        while receipt.awaited and time.monotonic() < deadline + 1:
            producer.flush(_LOOK_SECONDS)
        if receipt.broken:
            # It would refuse everything from now on; the next one starts afresh.
            self._producer = made(Producer, self._config)
        receipt.check()

    def consumer(
        self,
        group: str,
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,
        handling_seconds: float = 960.0,
    ) -> KafkaConsumer:
        config = consumer_config(
            self._access,
            group=group,
            session_seconds=session_seconds,
            handling_seconds=handling_seconds,
        )
        return KafkaConsumer(config, topics, handling_seconds=handling_seconds)

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        return self._topics.lags(group, topics, seconds)

    def close(self) -> None:
        self._topics.close()
        self._producer.close()


class _Receipt:
    """Counts what comes back for one batch. One object for all, since this runs per message."""

    __slots__ = ("awaited", "place", "problem", "size")

    def __init__(self, size: int) -> None:
        self.size = self.awaited = size
        self.problem: KafkaError | None = None
        self.place = ("", _BY_KEY)

    def __call__(self, problem: KafkaError | None, message: Sent) -> None:
        if problem is None:
            self.awaited -= 1
        else:
            self.fail(problem, (message.topic() or "", message.partition() or 0))

    def fail(self, problem: KafkaError, place: Place) -> None:
        self.awaited -= 1
        self.problem, self.place = problem, place

    @property
    def broken(self) -> bool:
        return self.problem is not None and self.problem.fatal()

    def check(self) -> None:
        if self.problem is not None:
            raise _named(self.problem, self.place)
        if self.awaited:
            raise BusUnavailable(f"Kafka acknowledged {self.size - self.awaited} of {self.size}")


def _named(problem: KafkaError, place: Place) -> BusUnavailable | UnknownTopic | UnknownPartition:
    if problem.code() == _NO_SUCH_PARTITION:
        return no_partition(*place)
    if problem.code() in _NO_SUCH_TOPIC:
        return UnknownTopic(problem.str())
    return BusUnavailable(f"Kafka did not take the batch: {problem.str()}")


def _enqueue(producer: Producer, message: Message, receipt: _Receipt, deadline: float) -> None:
    partition = _BY_KEY if message.partition is None else message.partition
    if message.partition == _BY_KEY:
        receipt.fail(KafkaError(_NO_SUCH_PARTITION), (message.topic, _BY_KEY))
        return
    while True:
        try:
            producer.produce(
                message.topic,
                message.value,
                message.key,
                partition,
                on_delivery=receipt,
                headers=list(message.headers) if message.headers else None,
            )
        except BufferError:
            # The library's queue is full (100,000 messages): let some of them leave.
            if time.monotonic() > deadline:
                raise BusUnavailable("Kafka takes messages slower than they come") from None
            producer.poll(_LOOK_SECONDS)
        except KafkaException as refused:
            # Reported like one that failed on its way: the others of the batch are on theirs.
            receipt.fail(refused.args[0], (message.topic, partition))
            return
        else:
            return
