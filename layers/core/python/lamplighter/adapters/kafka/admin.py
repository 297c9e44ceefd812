"""Topics and groups, as an administrator sees them."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewTopic,
    OffsetSpec,
)

from lamplighter.adapters.kafka.config import KafkaAccess, client_config, topic_config
from lamplighter.ports.bus import BusUnavailable, Topic, UnknownTopic

T = TypeVar("T")


class KafkaTopics:
    def __init__(self, access: KafkaAccess, *, replicas: int, answer_seconds: float) -> None:
        self._access = access
        self._answer_seconds = answer_seconds
        self._replicas = replicas
        self._client: AdminClient | None = None

    def ensure(self, topics: Sequence[Topic]) -> None:
        """`replicas` of -1 leaves their number to the broker."""
        wanted = [
            NewTopic(
                topic.name,
                num_partitions=topic.partitions,
                replication_factor=self._replicas,
                config=topic_config(retention_hours=topic.retention_hours),
            )
            for topic in topics
        ]
        if not wanted:
            return
        for made in (
            self._admin().create_topics(wanted, request_timeout=self._answer_seconds).values()
        ):
            self._answer(made, accepted=KafkaError.TOPIC_ALREADY_EXISTS)

    def lag(self, group: str, topic: str) -> int:
        places = [TopicPartition(topic, n) for n in range(self._partitions(topic))]
        committed = self._committed(group, places)
        first = self._offsets(places, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        end = self._offsets(places, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        return sum(end[n] - max(committed.get(n, 0), first[n]) for n in end)

    def _partitions(self, topic: str) -> int:
        try:
            found = self._admin().list_topics(topic, timeout=self._answer_seconds).topics[topic]
        except KafkaException as failed:
            raise BusUnavailable(str(failed)) from failed
        if found.error:
            raise UnknownTopic(f"{topic}: {found.error.str()}")
        return len(found.partitions)

    def _committed(self, group: str, places: list[TopicPartition]) -> dict[int, int]:
        asked = [ConsumerGroupTopicPartitions(group, places)]
        answers = self._admin().list_consumer_group_offsets(
            asked, request_timeout=self._answer_seconds
        )
        found = self._answer(answers[group])
        # Negative: the group has not committed anything there.
        partitions = (found.topic_partitions or []) if found else []
        return {place.partition: place.offset for place in partitions if place.offset >= 0}

    def _offsets(self, places: Iterable[TopicPartition], which: OffsetSpec) -> dict[int, int]:
        asked = dict.fromkeys(places, which)
        answers = self._admin().list_offsets(asked, request_timeout=self._answer_seconds)
        found = {place.partition: self._answer(answer) for place, answer in answers.items()}
        return {partition: answer.offset for partition, answer in found.items() if answer}

    def _admin(self) -> AdminClient:
        if not self._client:
            self._client = AdminClient(client_config(self._access))
        return self._client

    def _answer(self, future: "Future[T]", accepted: int | None = None) -> T | None:
        """What was asked for; nothing, where the refusal is one that will do."""
        try:
            # The library gives up in time. This is for the day when it does not.
            return future.result(timeout=self._answer_seconds + 1)
        except KafkaException as failed:
            if failed.args[0].code() == accepted:
                return None
            raise BusUnavailable(str(failed)) from failed
        except TimeoutError as late:
            raise BusUnavailable(f"no answer from Kafka in {self._answer_seconds} s") from late
