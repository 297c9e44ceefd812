"""The bus: a thousand small messages a batch, published and consumed, and one message's way.

Both brokers run on this machine, beside the clients.
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.report import Row
from infra.local.errors import ServiceFailed
from infra.local.kafka.server import Kafka
from infra.local.valkey import Valkey
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.ports.bus import Bus, Consumer, Message, Topic

BATCH = 1_000
ROUNDS = 50
PINGS = 200
QUESTIONS = 200
TOPIC = Topic("bench", partitions=20, keyed_by="number")
PING = Topic("ping", partitions=1, keyed_by="nothing")
VALUE = b'{"runId":"0190a5f6-7b6c-8b1a-9c3d-1234567890ab","fence":1,"priority":5,"pool":"default"}'
CLASSES = [Topic(f"class-{n}", partitions=20, keyed_by="number") for n in range(4)]
GOAL = "goal 20,000"


def measure() -> list[Row]:
    rows: list[Row] = []
    for name, opened in (("streams", _streams), ("kafka", _kafka)):
        try:
            with opened() as bus:
                rows += _measure(name, bus)
        except ServiceFailed as absent:
            reason = str(absent).splitlines()[0]
            rows.append({"name": f"bus {name}", "unit": "", "value": 0, "note": reason})
    return rows


@contextmanager
def _streams() -> Iterator[Bus]:
    with tempfile.TemporaryDirectory() as folder, Valkey(Path(folder)) as server:
        bus = StreamsBus(server.url)
        yield bus
        bus.close()


@contextmanager
def _kafka() -> Iterator[Bus]:
    with tempfile.TemporaryDirectory() as folder, Kafka(Path(folder)) as server:
        bus = KafkaBus(KafkaAccess(server.url))
        yield bus
        bus.close()


def _measure(name: str, bus: Bus) -> list[Row]:
    bus.ensure_topics([TOPIC, PING, *CLASSES])
    batch = [Message(TOPIC.name, VALUE, b"%036d" % n) for n in range(BATCH)]
    _publish(bus, batch, 10)  # a cold JVM says little
    published = _timed(lambda: _publish(bus, batch, ROUNDS))
    consumer = bus.consumer("bench", [TOPIC.name])
    consumer.commit(consumer.poll(1, 10))
    total = (ROUNDS + 10) * BATCH - 1
    consumed = _timed(lambda: _consume(consumer, total))
    consumer.close()
    pings = _pings(bus)
    acknowledged = sorted(_timed(lambda: bus.publish(batch[:1])) for _ in range(PINGS))
    return [
        _row(f"bus {name} publish", "messages/s", ROUNDS * BATCH / published, GOAL),
        _row(f"bus {name} consume and commit", "messages/s", total / consumed, GOAL),
        *_latency(f"bus {name} publish one, idle", acknowledged),
        *_latency(f"bus {name} publish to poll, idle", pings),
        *_latency(f"bus {name} lags of 4 topics, at work", _questions(bus)),
    ]


def _publish(bus: Bus, batch: list[Message], times: int) -> None:
    for _ in range(times):
        bus.publish(batch)


def _consume(consumer: Consumer, wanted: int) -> None:
    while wanted > 0:
        records = consumer.poll(BATCH, 10)
        consumer.commit(records)
        wanted -= len(records)


def _pings(bus: Bus) -> list[float]:
    """From the start of a publish in one thread to the end of a waiting poll in another."""
    consumer = bus.consumer("ping", [PING.name])
    bus.publish([Message(PING.name, b"first")])
    consumer.commit(consumer.poll(1, 10))
    times = []
    for _ in range(PINGS):
        began: list[float] = []
        threading.Timer(0.005, _publish_ping, [bus, began]).start()
        records = consumer.poll(1, 10)
        times.append(time.perf_counter() - began[0])
        consumer.commit(records)
    consumer.close()
    return sorted(times)


def _questions(bus: Bus) -> list[float]:
    """What the watcher asks of a pool, up to ten times a second: every partition of its classes."""
    names = [topic.name for topic in CLASSES]
    bus.publish([Message(name, VALUE, partition=n) for name in names for n in range(20)])
    bus.lags("bench", names)  # the first one connects
    return sorted(_timed(lambda: bus.lags("bench", names)) for _ in range(QUESTIONS))


def _publish_ping(bus: Bus, began: list[float]) -> None:
    began.append(time.perf_counter())
    bus.publish([Message(PING.name, b"ping")])


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _latency(name: str, times: list[float]) -> list[Row]:
    p99 = times[int(len(times) * 0.99) - 1]
    return [
        _row(f"{name}, p50", "ms", statistics.median(times) * 1000, "goal 5 at most"),
        _row(f"{name}, p99", "ms", p99 * 1000, "goal 20 at most"),
    ]


def _row(name: str, unit: str, value: float, note: str) -> Row:
    return {"name": name, "unit": unit, "value": value, "note": note}
