"""Topics and groups, as an administrator sees them."""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from lamplighter.adapters.kafka.config import Config, KafkaAccess, client_config, made, topic_config
from lamplighter.ports.bus import BusUnavailable, Place, Topic, UnknownTopic

# Between two tries, where a broker does not know yet what another has decided.
_PAUSE_SECONDS: Final = 0.05


class KafkaTopics:
    def __init__(self, access: KafkaAccess, *, replicas: int, answer_seconds: float) -> None:
        self._access = access
        self._replicas = replicas
        self._answer_seconds = answer_seconds
        self._readers: dict[str, Future[Consumer]] = {}
        self._making = threading.Lock()
        # They never change: keys would move.
        self._counts: dict[str, int] = {}

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
        if wanted:
            # Asked for once in a process's life: no reason to keep a connection.
            admin = made(AdminClient, client_config(self._access))
            answers = admin.create_topics(wanted, request_timeout=self._answer_seconds)
            for answer in answers.values():
                self._made(answer)
            self._await(admin, {topic.name for topic in topics})

    def _await(self, admin: AdminClient, names: set[str]) -> None:
        """Who makes a topic is answered by the controller; who reads it asks a broker."""
        deadline = time.monotonic() + self._answer_seconds
        while missing := names - _known(admin, deadline):
            if time.monotonic() > deadline:
                raise BusUnavailable(
                    f"Kafka made {sorted(missing)}, and its brokers do not know it"
                )
            time.sleep(_PAUSE_SECONDS)

    def lags(self, group: str, topics: Sequence[str], seconds: float) -> dict[Place, int]:
        """Asks by way of a consumer that joins nothing: the admin client takes twice as long."""
        deadline = time.monotonic() + seconds
        reader = self._reader(group, seconds)
        while True:
            try:
                return self._lags(reader, topics, deadline)
            except KafkaException as failed:
                if time.monotonic() + _PAUSE_SECONDS > deadline:
                    raise BusUnavailable(f"Kafka did not count: {failed}") from failed
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        for making in self._readers.values():
            making.add_done_callback(_close)

    def _lags(self, reader: Consumer, topics: Sequence[str], deadline: float) -> dict[Place, int]:
        """Two requests, whatever the number of topics; a third for what is not finished."""
        counts = [(name, self._partitions(reader, name, deadline)) for name in topics]
        places = [(name, n) for name, count in counts for n in range(count)]
        if not places:
            return {}
        asked = [TopicPartition(*place) for place in places]
        committed = _offsets(reader.committed(asked, timeout=_left(deadline)))
        ends = _bounds(reader, places, OFFSET_END, deadline)
        unread = [place for place in places if committed[place] < ends[place]]
        # Negative before the group's first commit; behind the log where retention was faster.
        lows = _bounds(reader, unread, OFFSET_BEGINNING, deadline)
        lags = {place: ends[place] - max(committed[place], lows[place]) for place in unread}
        return dict.fromkeys(places, 0) | lags

    def _partitions(self, reader: Consumer, topic: str, deadline: float) -> int:
        if topic not in self._counts:
            found = reader.list_topics(topic, timeout=_left(deadline)).topics[topic]
            if found.error:
                raise UnknownTopic(f"{topic}: {found.error.str()}")
            self._counts[topic] = len(found.partitions)
        return self._counts[topic]

    def _reader(self, group: str, seconds: float) -> Consumer:
        """Made aside: one that waits for a token takes longer than a leader may stand still."""
        with self._making:
            if group not in self._readers:
                settings = {"group.id": group, "enable.auto.commit": False}
                self._readers[group] = _made_aside(client_config(self._access) | settings)
            making = self._readers[group]
        try:
            return making.result(seconds)
        except TimeoutError:
            raise BusUnavailable("the reader that counts is still on its way") from None
        except BusUnavailable:
            with self._making:
                self._readers.pop(group, None)  # the next call tries anew
            raise

    def _made(self, answer: Any) -> None:
        try:
            # The library gives up in time. This is for the day when it does not.
            answer.result(timeout=self._answer_seconds + 1)
        except KafkaException as failed:
            if failed.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise BusUnavailable(f"Kafka did not make a topic: {failed}") from failed
        except TimeoutError as late:
            raise BusUnavailable(f"no answer from Kafka in {self._answer_seconds} s") from late


def _known(admin: AdminClient, deadline: float) -> set[str]:
    try:
        topics = admin.list_topics(timeout=max(_PAUSE_SECONDS, _left(deadline))).topics
    except KafkaException as failed:
        raise BusUnavailable(f"Kafka did not list its topics: {failed}") from failed
    return {name for name, topic in topics.items() if topic.error is None}


def _made_aside(config: Config) -> "Future[Consumer]":
    making: Future[Consumer] = Future()

    def make() -> None:
        try:
            making.set_result(made(Consumer, config))
        except BaseException as problem:  # noqa: BLE001 - whoever waits for it is told
            making.set_exception(problem)

    threading.Thread(target=make, daemon=True, name="kafka-reader").start()
    return making


def _close(made_by: "Future[Consumer]") -> None:
    if made_by.exception() is None:
        made_by.result().close()


def _bounds(
    reader: Consumer, places: Sequence[Place], which: int, deadline: float
) -> dict[Place, int]:
    """The protocol asks for an end of the log as it asks for a time, with a number below 0.

    The call that is made for it asks for one partition after the other.
    """
    if not places:
        return {}
    asked = [TopicPartition(*place, which) for place in places]
    return _offsets(reader.offsets_for_times(asked, timeout=_left(deadline)))


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _offsets(answered: Sequence[TopicPartition]) -> dict[Place, int]:
    for each in answered:
        if each.error:
            raise KafkaException(each.error)
    return {(each.topic, each.partition): each.offset for each in answered}
