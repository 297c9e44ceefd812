"""Queues: one per topic. What they are called, where they are, and how they are made.

On AWS the deployment makes them and the functions may not; then a look whether they exist is all
that happens here. So names and attributes are for both to read.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import msgspec

from lamplighter.adapters.sqs.calls import MOST_BYTES, Calls, insist
from lamplighter.contracts.sqs import MAX_RECEIVES
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.ports.bus import Topic, UnknownTopic

MOST_CHARACTERS: Final = 80
# For a mapping that reads the queue: no less than the function's time-out. Readers of our own say
# themselves how long they need.
VISIBILITY_SECONDS: Final = 960
_FORBIDDEN: Final = re.compile(r"[^A-Za-z0-9_-]")


def queue_name(prefix: str, topic: str) -> str:
    """`lamplighter-job-runs-tasks-p1` for `job-runs.tasks.p1`."""
    name = _FORBIDDEN.sub("-", f"{prefix}-{topic}")
    if len(name) > MOST_CHARACTERS:
        raise UnknownTopic(f"{name} is too long for a queue: {MOST_CHARACTERS} characters at most")
    return name


def queue_attributes(topic: Topic, dead_letters_arn: str | None) -> dict[str, str]:
    """As CreateQueue takes them. The dead letters' own queue has nowhere to pass them on to."""
    attributes = {
        "MessageRetentionPeriod": str(max(60, topic.retention_hours * 3600)),
        "VisibilityTimeout": str(VISIBILITY_SECONDS),
        "MaximumMessageSize": str(MOST_BYTES),
    }
    if dead_letters_arn:
        policy = {"deadLetterTargetArn": dead_letters_arn, "maxReceiveCount": MAX_RECEIVES}
        attributes["RedrivePolicy"] = msgspec.json.encode(policy).decode()
    return attributes


class Queues:
    """Knows the address of each queue, once it was asked for."""

    def __init__(self, client: Callable[[], Any], prefix: str, calls: Calls) -> None:
        self._client = client
        self._prefix = prefix
        self._calls = calls
        self._urls: dict[str, str] = {}
        self._making = threading.Lock()

    def urls(self, topics: Sequence[str], deadline: float) -> Mapping[str, str]:
        """Where these topics are. Raises UnknownTopic."""
        unknown = [topic for topic in dict.fromkeys(topics) if topic not in self._urls]
        if unknown:
            found = self._calls.each(
                [partial(self._look_up, t, deadline) for t in unknown], deadline
            )
            self._urls.update(zip(unknown, found, strict=True))
        return self._urls

    @contextmanager
    def forgetting(self, topics: Iterable[str]) -> Iterator[None]:
        """Where one of these turns out to be gone, look it up anew the next time."""
        try:
            yield
        except UnknownTopic:
            for topic in topics:
                self._urls.pop(topic, None)
            raise

    def ensure(self, topics: Sequence[Topic], deadline: float) -> None:
        with self._making:
            missing = [topic for topic in topics if not self._exists(topic.name, deadline)]
            if not missing:
                return
            if not self._exists(DEAD_LETTERS.name, deadline):
                self._make(DEAD_LETTERS, None, deadline)
            arn = self._arn(DEAD_LETTERS.name, deadline)
            for topic in missing:
                if topic.name != DEAD_LETTERS.name:
                    self._make(topic, arn, deadline)

    def _exists(self, topic: str, deadline: float) -> bool:
        try:
            self.urls([topic], deadline)
        except UnknownTopic:
            return False
        return True

    def _make(self, topic: Topic, dead_letters_arn: str | None, deadline: float) -> None:
        name = queue_name(self._prefix, topic.name)
        attributes = queue_attributes(topic, dead_letters_arn)
        made = insist(
            lambda: self._client().create_queue(QueueName=name, Attributes=attributes), deadline
        )
        self._urls[topic.name] = made["QueueUrl"]

    def _look_up(self, topic: str, deadline: float) -> str:
        name = queue_name(self._prefix, topic)
        try:
            found = insist(lambda: self._client().get_queue_url(QueueName=name), deadline)
        except UnknownTopic:
            raise UnknownTopic(f"there is no queue {name}; ensure_topics makes it") from None
        return str(found["QueueUrl"])

    def _arn(self, topic: str, deadline: float) -> str:
        url = self._urls[topic]
        found = insist(
            lambda: self._client().get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"]),
            deadline,
        )
        return str(found["Attributes"]["QueueArn"])
