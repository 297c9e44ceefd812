"""A topic of one's own, consumers that are closed in the end, and patience with a bound."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from uuid import uuid4

from lamplighter.ports.bus import Bus, Capability, Consumer, Message, Record, Topic
from tests.adapters.bus.brokers import SESSION_SECONDS

_numbers = count()


class Play:
    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._consumers: list[Consumer] = []

    def topic(self, partitions: int = 1) -> str:
        name = f"topic.{uuid4().hex[:8]}.{next(_numbers)}"
        self.bus.ensure_topics([Topic(name, partitions, keyed_by="anything")])
        return name

    def publish(self, topic: str, *values: str, key: bytes | None = None) -> None:
        self.bus.publish([Message(topic, value.encode(), key) for value in values])

    def consumer(
        self,
        *topics: str,
        group: str = "group",
        session: float | None = None,
        handling: float = 60.0,
    ) -> Consumer:
        """Without groups nobody waits for a session to end; with a short one, things come twice."""
        if session is None:
            is_quick = Capability.GROUPS in self.bus.capabilities
            session = SESSION_SECONDS if is_quick else 2 * SESSION_SECONDS
        made = self.bus.consumer(group, topics, session_seconds=session, handling_seconds=handling)
        self._consumers.append(made)
        return made

    def lag(self, topic: str, group: str = "group") -> int:
        return sum(self.bus.lags(group, [topic]).values())

    def told(self, records: Sequence[Record]) -> list[str]:
        """Their values, as they came; sorted, where the bus promises no order."""
        found = values(records)
        return found if Capability.ORDER in self.bus.capabilities else sorted(found)

    def leave(self, consumer: Consumer) -> None:
        self._consumers.remove(consumer)
        consumer.close()

    def close(self) -> None:
        for consumer in self._consumers:
            consumer.close()


def values(records: Sequence[Record]) -> list[str]:
    return [record.value.decode() for record in records]


def take(consumer: Consumer, wanted: int, seconds: float = 20.0) -> list[Record]:
    """Poll, and commit nothing, until that many are in hand at once.

    A poll may bring a part, and the rest of its partition only after that is settled: then begin
    again.
    """
    deadline = time.monotonic() + seconds
    while True:
        found: list[Record] = []
        while len(found) < wanted and (more := consumer.poll(wanted - len(found), 0.3)):
            found += more
        if len(found) == wanted:
            return found
        consumer.rewind(found)
        assert time.monotonic() < deadline, f"{len(found)} of {wanted}: {values(found)}"


def drain(consumer: Consumer, wanted: int, seconds: float = 20.0) -> list[Record]:
    """Poll and commit until that many were there."""
    found: list[Record] = []
    deadline = time.monotonic() + seconds
    while len(found) < wanted:
        assert time.monotonic() < deadline, f"{len(found)} of {wanted}: {values(found)}"
        records = consumer.poll(1000, 0.1)
        consumer.commit(records)
        found += records
    return found


def until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)


@contextmanager
def later(call: Callable[..., None], *arguments: object) -> Iterator[None]:
    """What another thread does while this one waits; it is through before the bus is closed."""
    caller = threading.Timer(0.2, call, arguments)
    caller.start()
    yield
    caller.join()
