"""The services, as one suite sees them: how to make one, write to it, read from it, break it.

Run as a program, it starts one and waits, so that a test can kill it:
`python -m tests.infra.local.kinds <kind> <folder>`.
"""

import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
import valkey
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.service import Service
from infra.local.valkey import Valkey


@dataclass(frozen=True)
class Kind:
    make: Callable[[Path], Service]
    make_broken: Callable[[Path], Service]
    complaint: str
    write: Callable[[str], None]
    read: Callable[[str], str]


def _postgres(version: int) -> Kind:
    return Kind(
        make=lambda folder: Postgres(folder, version=version),
        make_broken=lambda folder: Postgres(folder, version=version, settings={"fsync": "maybe"}),
        complaint='parameter "fsync" requires a Boolean value',
        write=_write_postgres,
        read=_read_postgres,
    )


def _write_postgres(url: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept (word text)")
        connection.execute("INSERT INTO kept VALUES ('lamp')")


def _read_postgres(url: str) -> str:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT word FROM kept").fetchone()
        return str(row[0]) if row else ""


def _write_valkey(url: str) -> None:
    with valkey.Valkey.from_url(url) as client:
        client.set("kept", "lamp")


def _read_valkey(url: str) -> str:
    with valkey.Valkey.from_url(url, decode_responses=True) as client:
        return str(client.get("kept"))


def _write_kafka(url: str) -> None:
    admin = AdminClient({"bootstrap.servers": url})
    admin.create_topics([NewTopic("kept", 1, 1)])["kept"].result(timeout=20)
    producer = Producer({"bootstrap.servers": url})
    producer.produce("kept", b"lamp")
    assert producer.flush(20) == 0


def _read_kafka(url: str) -> str:
    consumer = Consumer({"bootstrap.servers": url, "group.id": "none: it reads from the start"})
    consumer.assign([TopicPartition("kept", 0, OFFSET_BEGINNING)])
    message = consumer.poll(30)
    consumer.close()
    return (message.value() or b"").decode() if message and not message.error() else ""


KINDS = {
    "postgres18": _postgres(18),
    "postgres16": _postgres(16),
    "valkey": Kind(
        make=Valkey,
        make_broken=lambda folder: Valkey(folder, memory="plenty"),
        complaint="argument must be a memory value",
        write=_write_valkey,
        read=_read_valkey,
    ),
    "kafka": Kind(
        make=Kafka,
        make_broken=lambda folder: Kafka(folder, settings={"num.partitions": "several"}),
        complaint="Invalid value several for configuration num.partitions",
        write=_write_kafka,
        read=_read_kafka,
    ),
}


if __name__ == "__main__":
    kind, folder = sys.argv[1:]
    service = KINDS[kind].make(Path(folder)).start()
    sys.stdout.write(f"{service.pid} {service.port}\n")
    sys.stdout.flush()
    signal.pause()
