"""A member of a Kafka consumer group that never gives away what is still being handled.

librdkafka's Python consumer lets one thread in at a time, and a poll may stay there for long. So
what other threads want (commit, rewind) is handed in, and done by whoever is inside.
"""

import threading
import time
from collections.abc import Sequence
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from lamplighter.adapters.kafka.config import Config, log, made
from lamplighter.adapters.kafka.settling import Request, Settling
from lamplighter.ports.bus import BusUnavailable, Place, Record, UnknownTopic, ends, starts

# While others may hand something in, a poll looks that often; else it may rest.
_LOOK_SECONDS: Final = 0.01
_REST_SECONDS: Final = 2.0
_NO_SUCH_TOPIC: Final = {KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART}  # noqa: SLF001


class KafkaConsumer:
    def __init__(self, config: Config, topics: Sequence[str], *, handling_seconds: float) -> None:
        self._consumer = made(Consumer, config)
        self._handling_seconds = handling_seconds
        self._inside = threading.Lock()
        self._settling = Settling(self._consumer)
        self._consumer.subscribe(
            list(topics), on_assign=self._welcome, on_revoke=self._hand_over, on_lost=self._forget
        )

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        deadline = time.monotonic() + timeout
        while True:
            left = max(0.0, deadline - time.monotonic())
            with self._inside:
                self._settling.perform()
                records = self._fetch(max_records, min(left, self._patience()))
            if records or time.monotonic() >= deadline:
                return records

    def commit(self, records: Sequence[Record]) -> None:
        self._hand_in(Request(commits=ends(records)))

    def rewind(self, records: Sequence[Record]) -> None:
        self._hand_in(Request(rewinds=starts(records)))

    def close(self) -> None:
        self._settling.forget_all()
        with self._inside:
            self._consumer.close()

    def _hand_in(self, request: Request) -> None:
        self._settling.hand_in(request)
        while not request.done.is_set():
            if self._inside.acquire(timeout=_LOOK_SECONDS):
                try:
                    self._settling.perform()
                finally:
                    self._inside.release()
        if request.problem:
            raise request.problem

    def _patience(self) -> float:
        return _LOOK_SECONDS if self._settling.any_out() else _REST_SECONDS

    def _fetch(self, max_records: int, timeout: float) -> list[Record]:
        """`consume` would wait until there are as many as asked for: so wait for one, then take."""
        self._settling.pause_what_is_out()
        first = self._consumer.poll(timeout)
        if first is None:
            return []
        messages = [first]
        if max_records > 1:
            messages += self._consumer.consume(max_records - 1, 0)
        records = [_record(message) for message in messages if message.error() is None]
        problems = [problem for message in messages if (problem := message.error())]
        self._settling.give_out(records)
        if problems:
            _judge(problems, have_records=bool(records))
        return records

    def _welcome(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.debug("partitions assigned: %s", _places(partitions))

    def _hand_over(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Called inside a poll. Others wait for these partitions, and we for their handlers."""
        deadline = time.monotonic() + self._handling_seconds
        places = _places(partitions)
        while self._settling.any_out(places) and time.monotonic() < deadline:
            self._settling.wait(_LOOK_SECONDS)
            self._settling.perform()
        self._settling.forget(places)

    def _forget(self, _consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.warning("partitions lost to others of the group: %s", _places(partitions))
        self._settling.forget(_places(partitions))


def _places(partitions: Sequence[TopicPartition]) -> list[Place]:
    return [(each.topic, each.partition) for each in partitions]


def _judge(problems: Sequence[KafkaError], *, have_records: bool) -> None:
    """Errors come between the messages. The library recovers from most of them by itself."""
    for problem in problems:
        log.warning("kafka consumer: %s", problem.str())
        # What was fetched beside it must not be lost with it.
        if have_records:
            continue
        if problem.code() in _NO_SUCH_TOPIC:
            raise UnknownTopic(problem.str())
        if problem.fatal():
            raise BusUnavailable(problem.str())


def _record(message: Message) -> Record:
    headers = message.headers()
    return Record(
        message.topic() or "",
        message.partition() or 0,
        message.offset() or 0,
        message.key(),
        message.value() or b"",
        message.timestamp()[1],
        tuple(headers) if headers else (),  # type: ignore[arg-type]
    )
