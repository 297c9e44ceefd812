"""The bus: topics that carry hints between the functions. Kafka's semantics, whoever keeps them.

A topic has partitions; a message's key decides its partition, unless the message names one, and a
partition keeps its order. A group reads each partition with one consumer at a time and remembers
how far it has come. Delivery is at least once. All calls but `poll` raise BusUnavailable when the
broker is not reached in time.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final, Protocol
from zlib import crc32

import msgspec

from lamplighter.domain.errors import LamplighterError

# Key, value and headers of one message together. Kafka's and SQS's own limit, less what SQS counts
# beside them, and a quarter of what fits into a Lambda event once it is base64; what is larger
# belongs into object storage.
MAX_MESSAGE_BYTES: Final = 1024 * 1024 - 4096

# A question that somebody waits for; who has other things to do asks with less patience.
COUNT_SECONDS: Final = 5.0

Headers = tuple[tuple[str, bytes], ...]
# topic, partition
Place = tuple[str, int]


class Capability(Enum):
    """What a bus may lack and say so; everything else in this file is kept by all of them."""

    ORDER = "a partition keeps its order, and a commit is about all that lies before it as well"
    PARTITIONS = "keys and messages choose among partitions, and each has one reader at a time"
    GROUPS = "several groups read the same topic, each for itself"


EVERYTHING: Final = frozenset(Capability)


class BusUnavailable(LamplighterError):
    """The broker was not reached, or did not answer in time. Part of a batch may have arrived."""


class UnknownTopic(LamplighterError):
    """No such topic. `ensure_topics` makes what contracts/topics.py lists."""


class UnknownPartition(LamplighterError):
    """A message names a partition that its topic has not. Part of its batch may have arrived."""


class MessageTooLarge(LamplighterError):
    """A message is over MAX_MESSAGE_BYTES. Nothing of its batch was published."""


class Topic(msgspec.Struct, frozen=True):
    """A topic as it is made. `keyed_by` says what its keys are."""

    name: str
    partitions: int
    keyed_by: str
    retention_hours: int = 72
    # An acknowledged message survives a power cut of the broker. On Kafka the replicas see to that,
    # for every topic; Valkey then waits for its log to reach the disk, which takes up to a second.
    fsync: bool = False


class Message(msgspec.Struct, frozen=True, gc=False):
    """What to publish. A partition wins over the key; with neither, any partition will do."""

    topic: str
    value: bytes
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None


class Record(msgspec.Struct, frozen=True, gc=False):
    """What was published, and where it ended up. Offsets rise within a partition."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes
    timestamp_ms: int
    headers: Headers = ()

    @property
    def place(self) -> Place:
        return self.topic, self.partition


class Consumer(Protocol):
    """One member of a group. One thread polls; `commit` and `rewind` may come from any.

    A partition whose records were handed out is quiet until all of them are committed or rewound:
    one batch at a time per partition, as a Lambda mapping has it, while the others go on. It stays
    with this consumer for as long as `handling_seconds`; others that join get it afterwards. So
    settle before you poll again, or from another thread: a poll may wait for what is out.
    """

    def poll(self, max_records: int, timeout: float) -> list[Record]:
        """What is there, of several partitions perhaps; waits up to `timeout` s for the first.

        Nothing comes while the broker is away, and everything when it is back: no error, since
        there is nothing that the caller could do.
        """

    def commit(self, records: Sequence[Record]) -> None:
        """The group is done with these and with everything before them in their partitions.

        Where a partition went to another consumer meanwhile, nothing happens: it starts from the
        last commit that counted. After BusUnavailable they are still handed out: commit again.
        """

    def rewind(self, records: Sequence[Record]) -> None:
        """Deliver again, from the first of these on in each of their partitions."""

    def close(self) -> None:
        """Leave the group at once. What was handed out and not committed goes to others."""


class Bus(Protocol):
    @property
    def capabilities(self) -> frozenset[Capability]:
        """Whoever needs one that may be missing asks here; without ORDER, slots keep the order."""

    def ensure_topics(self, topics: Sequence[Topic]) -> None:
        """Make those that are missing. Partitions and limits of existing ones stay as they are."""

    def publish(self, batch: Sequence[Message]) -> None:
        """Return when all of them are acknowledged. Messages of one key arrive in this order."""

    def consumer(
        self,
        group: str,
        topics: Sequence[str],
        *,
        session_seconds: float = 10.0,
        handling_seconds: float = 960.0,
    ) -> Consumer:
        """Join a group; a new one starts with the oldest message that is still kept.

        Kafka keeps a topic's retention; Streams no longer than until all groups it knows are done.
        A consumer that crashed is missed after `session_seconds`. One that lives, but has not
        settled what it was given in `handling_seconds` (beyond Lambda's longest), loses it too.
        """

    def lags(
        self, group: str, topics: Sequence[str], *, seconds: float = COUNT_SECONDS
    ) -> dict[Place, int]:
        """Messages that the group has not committed yet, for every partition of these topics.

        No answer within `seconds` is BusUnavailable.
        """

    def close(self) -> None: ...


def check_sizes(batch: Sequence[Message]) -> None:
    """Refuse what no broker would take, before anything of the batch is on its way."""
    for message in batch:
        size = len(message.value) + len(message.key or b"")
        if message.headers:
            size += sum(len(name) + len(value) for name, value in message.headers)
        if size > MAX_MESSAGE_BYTES:
            raise MessageTooLarge(
                f"a message for {message.topic} has {size:,} bytes; {MAX_MESSAGE_BYTES:,} at most"
            )


def no_partition(topic: str, partition: int) -> UnknownPartition:
    return UnknownPartition(f"{topic} has no partition {partition}")


def choose_partition(message: Message, partitions: int, anywhere: int) -> int:
    """The message's own, else its key's: the CRC-32, as Kafka's client has it; else `anywhere`."""
    if message.partition is None:
        return (crc32(message.key) if message.key else anywhere) % partitions
    if not 0 <= message.partition < partitions:
        raise no_partition(message.topic, message.partition)
    return message.partition


def ends(records: Sequence[Record]) -> dict[Place, int]:
    """For each partition the offset after the last of these: what a commit stores."""
    found: dict[Place, int] = {}
    for record in records:
        place = (record.topic, record.partition)
        found[place] = max(found.get(place, 0), record.offset + 1)
    return found


def starts(records: Sequence[Record]) -> dict[Place, int]:
    """For each partition the offset of the first of these: where a rewind goes."""
    found: dict[Place, int] = {}
    for record in records:
        place = (record.topic, record.partition)
        found[place] = min(found.get(place, record.offset), record.offset)
    return found
