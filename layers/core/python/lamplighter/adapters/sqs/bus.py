"""The bus on SQS: a standard queue per topic, batches of ten, no order."""

import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from lamplighter.adapters.sqs.calls import (
    MOST_BYTES,
    MOST_ENTRIES,
    Calls,
    each_entry,
    insist,
    log,
)
from lamplighter.adapters.sqs.consumer import SqsConsumer
from lamplighter.adapters.sqs.queues import Queues
from lamplighter.adapters.sqs.settling import Handle, Settling
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.contracts.sqs import PARTITION, Receipt, Wrapped, pause_seconds, wrap
from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.bus import (
    COUNT_SECONDS,
    Capability,
    Message,
    MessageTooLarge,
    Place,
    Topic,
    check_sizes,
    choose_partition,
)

_ANSWER_SECONDS: Final = 5.0
_ENSURE_SECONDS: Final = 30.0
_GIVE_BACK_SECONDS: Final = 2.0
# A batch of 2,000 runs is 200 calls of some 10 ms each.
_SENDERS: Final = 16
_COUNTERS: Final = 8
_COUNTED: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class SqsBus:
    """Connects when first used. Every topic has one group: whoever reads takes messages away."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, clients: Clients, *, prefix: str, publish_seconds: float = 10.0) -> None:
        self._clients = clients
        self._publish_seconds = publish_seconds
        self._calls = Calls("sqs", _SENDERS)
        # Apart: whoever counts has little patience, and must not wait behind a large batch.
        self._counters = Calls("sqs lags", _COUNTERS)
        self._queues = Queues(self._client, prefix, self._counters)

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        self._queues.ensure(topics, time.monotonic() + _ENSURE_SECONDS)

    def publish(self, batch: Sequence[Message]) -> None:
        check_sizes(batch)
        deadline = time.monotonic() + self._publish_seconds
        by_topic = _wrapped(batch)
        urls = self._queues.urls(list(by_topic), deadline)
        calls = [
            partial(self._send, urls[topic], shipment, deadline)
            for topic, messages in by_topic.items()
            for shipment in _shipments(messages)
        ]
        with self._queues.forgetting(by_topic):
            self._calls.each(calls, deadline)

    def consumer(
        self,
        group: str,  # noqa: ARG002  a queue has one
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,
        handling_seconds: float = 960.0,
    ) -> SqsConsumer:
        known = self._queues.urls(topics, time.monotonic() + _ANSWER_SECONDS)
        return SqsConsumer(
            self._client(),
            {topic: known[topic] for topic in topics},
            session_seconds=session_seconds,
            handling_seconds=handling_seconds,
        )

    def lags(
        self,
        group: str,  # noqa: ARG002  a queue has one
        topics: Sequence[str],
        *,
        seconds: float = COUNT_SECONDS,
    ) -> dict[Place, int]:
        """As SQS counts them: approximately, and for a while after the last change too."""
        deadline = time.monotonic() + seconds
        urls = self._queues.urls(topics, deadline)
        calls = [partial(self._count, urls[topic], deadline) for topic in topics]
        with self._queues.forgetting(topics):
            counts = self._counters.each(calls, deadline)
        return {(topic, PARTITION): count for topic, count in zip(topics, counts, strict=True)}

    def give_back(self, receipts: Sequence[Receipt]) -> None:
        """Let what a function could not handle come again soon, and not when its mapping would.

        That is hours for a function that may take long. Where it fails, it is hours after all.
        """
        deadline = time.monotonic() + _GIVE_BACK_SECONDS
        handles = [
            Handle(each.topic, each.handle, pause_seconds(each.receives)) for each in receipts
        ]
        try:
            urls = self._queues.urls([each.topic for each in receipts], deadline)
            Settling(self._client(), urls, self._calls).show(handles, deadline)
        except LamplighterError as away:
            log.warning("%d messages come back late: %s", len(handles), away)

    def close(self) -> None:
        self._calls.close()
        self._counters.close()

    def _client(self) -> Any:
        # Ours are the retries: they end when the caller's time does.
        return self._clients.get("sqs", read_seconds=_ANSWER_SECONDS, repeat=False)

    def _send(self, url: str, shipment: Sequence[Wrapped], deadline: float) -> None:
        client = self._client()
        entries = [
            {"Id": str(n), "MessageBody": each.body, "MessageAttributes": each.attributes}
            for n, each in enumerate(shipment)
        ]
        each_entry(
            lambda some: client.send_message_batch(QueueUrl=url, Entries=some), entries, deadline
        )

    def _count(self, url: str, deadline: float) -> int:
        found = insist(
            lambda: self._client().get_queue_attributes(QueueUrl=url, AttributeNames=_COUNTED),
            deadline,
        )
        return sum(int(count) for count in found["Attributes"].values())


def _wrapped(batch: Sequence[Message]) -> dict[str, list[Wrapped]]:
    """By topic. Raises before anything is on its way."""
    found: dict[str, list[Wrapped]] = {}
    for message in batch:
        choose_partition(message, partitions=1, anywhere=PARTITION)
        wrapped = wrap(message)
        if wrapped.size > MOST_BYTES:  # thousands of headers, each with a few bytes of frame
            raise MessageTooLarge(
                f"a message for {message.topic} has {wrapped.size:,} bytes on SQS"
            )
        found.setdefault(message.topic, []).append(wrapped)
    return found


def _shipments(messages: Sequence[Wrapped]) -> Iterator[list[Wrapped]]:
    shipment: list[Wrapped] = []
    size = 0
    for each in messages:
        if len(shipment) == MOST_ENTRIES or (shipment and size + each.size > MOST_BYTES):
            yield shipment
            shipment, size = [], 0
        shipment.append(each)
        size += each.size
    if shipment:
        yield shipment
