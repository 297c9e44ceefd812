"""A bus that knows whether anything is on its way: nothing is waited for that will not come."""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final

from lamplighter.ports.bus import COUNT_SECONDS, Bus, Consumer, Message, Place, Record, Topic

# The leader of a wound world waits for everybody's turn: its lease lasts 1.5 s.
AT_ONCE: Final = 250


class CountedBus:
    """Everything goes to a real bus."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self.capabilities = bus.capabilities
        self._lock = threading.Lock()
        self._under_way: Counter[str] = Counter()

    def under_way(self, topics: Sequence[str]) -> int:
        """Messages that were published and not yet taken."""
        with self._lock:
            return sum(self._under_way[topic] for topic in topics)

    def took(self, records: Sequence[Record]) -> None:
        with self._lock:
            self._under_way.subtract(record.topic for record in records)

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        self._bus.ensure_topics(topics)

    def publish(self, batch: Sequence[Message]) -> None:
        # Counted first: between the two, somebody who looks must not find it quiet.
        with self._lock:
            self._under_way.update(message.topic for message in batch)
        self._bus.publish(batch)

    def consumer(
        self,
        group: str,
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,
        handling_seconds: float = 960.0,
    ) -> Consumer:
        return self._bus.consumer(
            group, topics, session_seconds=session_seconds, handling_seconds=handling_seconds
        )

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        return self._bus.lags(group, topics, seconds=seconds)

    def close(self) -> None:
        self._bus.close()


class Reader:
    """One group that reads some topics, when there is something in them."""

    def __init__(self, bus: CountedBus, group: str, topics: Sequence[str]) -> None:
        self._bus, self._topics = bus, topics
        self._consumer = bus.consumer(group, topics)

    @property
    def waiting(self) -> int:
        return self._bus.under_way(self._topics)

    def poll(self) -> list[Record]:
        records = self._consumer.poll(AT_ONCE, 0.05) if self.waiting > 0 else []
        self._bus.took(records)
        return records

    def commit(self, records: Sequence[Record]) -> None:
        self._consumer.commit(records)

    def close(self) -> None:
        self._consumer.close()
