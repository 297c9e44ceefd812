"""A topic of ids with nothing around it: on Kafka a message each, on a stream an entry a batch."""

from typing import Any, Final, Protocol

from confluent_kafka import Consumer, Producer, TopicPartition
from valkey import Valkey

BATCH: Final = 1_000
PARTITIONS: Final = 4
_ID_BYTES: Final = 16
_GROUP: Final = "bare"
_WAIT_SECONDS: Final = 0.01
_CONNECT_SECONDS: Final = 30.0


class BareTopic(Protocol):
    """One process sends, and another receives."""

    def send(self, ids: list[bytes]) -> None:
        """Returns when the broker has them."""

    def receive(self) -> list[bytes]:
        """What has come, perhaps nothing; what came before is done with."""


class KafkaTopic:
    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None

    def send(self, ids: list[bytes]) -> None:
        if self._producer is None:
            # As R0.2 asks of every producer: no message twice, none out of order.
            self._producer = Producer(
                {"bootstrap.servers": self._url, "acks": "all", "enable.idempotence": True,
                 "linger.ms": 1}
            )  # fmt: skip
        for each in ids:
            self._producer.produce(self._name, each)
        self._producer.flush()

    def receive(self) -> list[bytes]:
        if self._consumer is None:
            self._consumer = self._connected()
        got = self._consumer.consume(BATCH, _WAIT_SECONDS)
        if failed := [message.error() for message in got if message.error()]:
            raise RuntimeError(f"{self._name}: {failed[0]}")
        if got:
            self._consumer.commit(asynchronous=True)
        return [message.value() or b"" for message in got]

    def _connected(self) -> Consumer:
        """From the end on, without asking the group: a young broker may not know of any yet."""
        consumer = Consumer(
            {"bootstrap.servers": self._url, "group.id": _GROUP, "enable.auto.commit": False,
             "fetch.wait.max.ms": 10}
        )  # fmt: skip
        places = [TopicPartition(self._name, n) for n in range(PARTITIONS)]
        for place in places:
            _, place.offset = consumer.get_watermark_offsets(place, _CONNECT_SECONDS)
        consumer.assign(places)
        return consumer


class StreamTopic:
    def __init__(self, url: str, name: str) -> None:
        self._store, self._name = Valkey.from_url(url), name
        self._done: list[bytes] = []

    def send(self, ids: list[bytes]) -> None:
        self._store.xadd(self._name, {"ids": b"".join(ids)})

    def receive(self) -> list[bytes]:
        if self._done:
            self._store.xack(self._name, _GROUP, *self._done)
        got: Any = self._store.xreadgroup(
            _GROUP, "one", {self._name: ">"}, count=1, block=int(1000 * _WAIT_SECONDS)
        )
        entries = [entry for _, found in got for entry in found]
        self._done = [entry_id for entry_id, _ in entries]
        return [each for _, fields in entries for each in _parted(fields[b"ids"])]


def _parted(ids: bytes) -> list[bytes]:
    return [ids[n : n + _ID_BYTES] for n in range(0, len(ids), _ID_BYTES)]


def topic(bus: str, url: str, name: str) -> BareTopic:
    return KafkaTopic(url, name) if bus == "kafka" else StreamTopic(url, name)
