"""What librdkafka is told, and why. One place for every setting that is not its default."""

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec
from confluent_kafka import KafkaError, KafkaException

from lamplighter.ports.bus import MAX_MESSAGE_BYTES, BusUnavailable

log: Final = logging.getLogger("lamplighter.kafka")

# A token and the epoch second at which it ends.
TokenProvider = Callable[[], tuple[str, float]]
Config = dict[str, Any]
C = TypeVar("C")

# A message of the largest size still needs a frame around it: its batch's header and the request's.
FRAME_BYTES: Final = 64 * 1024


class _Quiet:
    """The library's own log: a line for every reconnect of every client. For those who look."""

    def log(self, _level: int, message: str, *arguments: object) -> None:
        log.debug(message, *arguments)


class KafkaAccess(msgspec.Struct, frozen=True):
    """Where the brokers are, and how to prove who we are.

    With a token provider the connection is encrypted and asks for IAM's tokens (MSK); without one
    it is open, which is for the embedded broker and for networks that see to it themselves.
    """

    servers: str
    token: TokenProvider | None = None
    # A file with those who may vouch for a broker; none: those that the system trusts.
    authorities: str | None = None


def client_config(access: KafkaAccess) -> Config:
    config: Config = {
        "bootstrap.servers": access.servers,
        "logger": _Quiet(),
        "error_cb": _note_error,
        # Brokers close idle connections as a matter of course: not worth a line.
        "log.connection.close": False,
        # A broker that is back after a restart is found within a second, not after ten.
        "reconnect.backoff.max.ms": 1000,
        "socket.timeout.ms": 10_000,
        # Small requests must not wait for one another.
        "socket.nagle.disable": True,
    }
    if access.token:
        provide = access.token
        config |= {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _settings: provide(),
        }
        if access.authorities:
            config["ssl.ca.location"] = access.authorities
    return config


def made(kind: Callable[[Config], C], config: Config) -> C:
    """A client. One that needs a token waits here for its first, and BusUnavailable if none comes.

    For a second, since it looks once in one; in vain for ten. Later tokens are asked for by a
    thread of the library: nobody has to poll for them.
    """
    try:
        return kind(config)
    except KafkaException as refused:
        raise BusUnavailable(f"no client for Kafka: {refused.args[0].str()}") from refused


def producer_config(access: KafkaAccess, *, publish_seconds: float) -> Config:
    return client_config(access) | {
        "acks": "all",
        "enable.idempotence": True,
        # A broker that knows nothing of a producer yet takes any sequence number for the first. Of
        # two batches under way while a partition is made or moves, it may refuse the first and take
        # the second; the library then holds the first for written, and it is lost (KAFKA-15591).
        # One at a time costs nothing that a herd shows: the next batch grows meanwhile.
        "max.in.flight": 1,
        # CRC-32 of the key. Streams has the same, so a key has its partition on either bus.
        "partitioner": "consistent_random",
        # Between zones bytes cost money. On one machine, to pack a batch costs client and broker as
        # much again as to send it.
        "compression.type": "lz4" if access.token else "none",
        "message.max.bytes": MAX_MESSAGE_BYTES + FRAME_BYTES,
        # Retries go on until then; afterwards the caller knows a better way than to wait.
        "delivery.timeout.ms": int(publish_seconds * 1000),
        # A flush sends at once, whatever lingers, and every publish ends with one.
        "linger.ms": 5,
        # A topic that was made a moment ago may be news to a broker: do not give up on it at once.
        "topic.metadata.propagation.max.ms": int(publish_seconds * 500),
    }


def consumer_config(
    access: KafkaAccess, *, group: str, session_seconds: float, handling_seconds: float
) -> Config:
    session = int(session_seconds * 1000)
    return client_config(access) | {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        # Whoever joins or leaves stops only the partitions that move.
        "partition.assignment.strategy": "cooperative-sticky",
        # librdkafka's own thread sends heartbeats, so a long handler is not a dead one …
        "session.timeout.ms": session,
        "heartbeat.interval.ms": max(100, session // 5),
        # … until it is longer than any handler may take.
        "max.poll.interval.ms": max(session, int(handling_seconds * 1000)),
        # A partition that is taken up again waits for the fetch that is under way to end.
        "fetch.wait.max.ms": 100,
        # To the library a paused partition is one with a full queue, which it looks at that often.
        "fetch.queue.backoff.ms": 10,
        "queued.max.messages.kbytes": 16 * 1024,
    }


def topic_config(*, retention_hours: int) -> dict[str, str]:
    return {
        "retention.ms": str(retention_hours * 3_600_000),
        "max.message.bytes": str(MAX_MESSAGE_BYTES + FRAME_BYTES),
    }


def _note_error(error: KafkaError) -> None:
    """The library goes on trying by itself; calls that give up say so to their callers."""
    log.debug("kafka reported %s", error)
