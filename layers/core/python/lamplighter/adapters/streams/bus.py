"""The bus on Valkey: publishing, topics, and how far groups have come."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

import msgspec

from lamplighter.adapters.streams import keys
from lamplighter.adapters.streams.consumer import StreamsConsumer
from lamplighter.adapters.streams.packing import Entry, pack
from lamplighter.adapters.streams.server import AWAY, Server, translated
from lamplighter.ports.bus import (
    COUNT_SECONDS,
    EVERYTHING,
    Message,
    Place,
    Topic,
    UnknownTopic,
    check_sizes,
)

T = TypeVar("T")

# What goes to the server in one call. It serves nobody else meanwhile.
_SHIPMENT_BYTES: Final = 8 * 1024 * 1024
_ANSWER_SECONDS: Final = 5.0


class StreamsBus:
    """Connects when first used. The server should keep an append-only file.

    `topics` are made again where the server has lost what it had: nobody else would do that.
    """

    capabilities = EVERYTHING

    def __init__(
        self, url: str, *, publish_seconds: float = 10.0, topics: Sequence[Topic] = ()
    ) -> None:
        self._publish_seconds = publish_seconds
        self._url = url
        self._server = Server(url, answer_seconds=min(_ANSWER_SECONDS, publish_seconds))
        # Patience belongs to a connection, so whoever has less of it gets another.
        self._counters: dict[float, Server] = {}
        self._topics: dict[str, Topic] = {}
        self._to_make_again = {topic.name: topic for topic in topics}

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        with translated("make topics"), self._server.client.pipeline(transaction=False) as pipe:
            for topic in topics:
                pipe.hsetnx(keys.TOPICS, topic.name, msgspec.json.encode(topic))
            pipe.execute()

    def publish(self, batch: Sequence[Message]) -> None:
        check_sizes(batch)
        deadline = time.monotonic() + self._publish_seconds
        with translated("take the batch"):
            entries = _insist(lambda: pack(batch, self._partitions), deadline)
            for shipment in _shipments(entries):
                self._ship(shipment, deadline)

    def consumer(
        self,
        group: str,
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,
        handling_seconds: float = 960.0,
    ) -> StreamsConsumer:
        with translated("look up topics"):
            partitions = {topic: self._partitions(topic) for topic in topics}
        return StreamsConsumer(
            Server(self._url, answer_seconds=_ANSWER_SECONDS),
            group,
            partitions,
            session_seconds=session_seconds,
            handling_seconds=handling_seconds,
        )

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        found: dict[Place, int] = {}
        server = self._counter(seconds)
        with translated("count messages"), server.client.pipeline() as pipe:
            for topic in topics:
                numbers = range(self._topic(topic, server).partitions)
                pipe.hmget(keys.ends(topic), [str(n) for n in numbers])
                pipe.hmget(keys.ends(topic), [f"{n}:low" for n in numbers])
                pipe.hmget(keys.committed(topic), [f"{n}|{group}" for n in numbers])
            answers = pipe.execute()
        for topic, *positions in zip(topics, *(answers[at::3] for at in range(3)), strict=True):
            for n, (end, low, at) in enumerate(zip(*positions, strict=True)):
                found[topic, n] = int(end or 0) - max(int(low or 0), int(at or 0))
        return found

    def close(self) -> None:
        for server in (self._server, *self._counters.values()):
            server.close()

    def _counter(self, seconds: float) -> Server:
        found = self._counters.get(seconds)
        return found or self._counters.setdefault(
            seconds, Server(self._url, answer_seconds=seconds)
        )

    def _partitions(self, topic: str) -> int:
        return self._topic(topic).partitions

    def _topic(self, name: str, server: Server | None = None) -> Topic:
        if name not in self._topics:
            client = (server or self._server).client
            if name in self._to_make_again:
                lost = msgspec.json.encode(self._to_make_again[name])
                client.hsetnx(keys.TOPICS, name, lost)
            found = client.hget(keys.TOPICS, name)
            if found is None:
                raise UnknownTopic(f"there is no topic {name}; ensure_topics makes it")
            self._topics[name] = msgspec.json.decode(found, type=Topic)
        return self._topics[name]

    def _ship(self, entries: Sequence[Entry], deadline: float) -> None:
        """May be repeated: what is in already does not change."""
        names, arguments = self._call(entries)
        fsync = any(self._topic(entry.place[0]).fsync for entry in entries)
        send = self._server.run_and_sync if fsync else self._server.run
        _insist(lambda: send("publish", names, arguments), deadline)

    def _call(self, entries: Sequence[Entry]) -> tuple[list[str], list[Any]]:
        names = [keys.seen(os.urandom(12).hex())]
        arguments: list[Any] = [int(3000 * self._publish_seconds)]
        for entry in entries:
            topic, partition = entry.place
            names += [keys.ends(topic), keys.log(topic, partition)]
            retention = self._topic(topic).retention_hours * 3_600_000
            arguments += [partition, entry.size, retention, entry.batch]
        return names, arguments


def _insist(call: Callable[[], T], deadline: float) -> T:
    """Again and again while the server is away, until time is up."""
    pause = 0.01
    while True:
        try:
            return call()
        except AWAY:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


def _shipments(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    shipment: list[Entry] = []
    size = 0
    for entry in entries:
        if shipment and size + len(entry.batch) > _SHIPMENT_BYTES:
            yield shipment
            shipment, size = [], 0
        shipment.append(entry)
        size += len(entry.batch)
    if shipment:
        yield shipment
