"""The limit: the bare data path of the design, as fast as plain Python clients drive these servers.

Batches into bare tables, pages by key, a sorted set, a topic, a claim, a topic of statuses, an end:
everything durable, and nothing else, so no fences, states, checks, turns, shares or HTTP. Three
processes beside the servers: one moves what is due, one claims it, one ends it.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing.process import BaseProcess
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from uuid import UUID

from valkey import Valkey as Store

from benchmarks.bare import BareLedger
from benchmarks.bare_topic import BATCH, PARTITIONS, topic
from benchmarks.report import Row, not_measured
from benchmarks.running import absent, until
from benchmarks.sizes import number, numbers, words
from infra.local.kafka.server import Kafka
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.domain.ids import first_run_id, new_job_id, run_id
from lamplighter.ports.bus import Topic

RUNS, STATUSES, DUE = "bare-runs", "bare-statuses", "bare-due"
HERDS = 3
PATIENCE_SECONDS = 120.0


class Servers(NamedTuple):
    bus: str
    database_url: str
    valkey_url: str
    bus_url: str


class Bare(NamedTuple):
    """Jobs a second."""

    submitted: float
    done: float


def measure() -> list[Row]:
    rows: list[Row] = []
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"bare path over {bus}", reason))
            continue
        with servers(bus) as started:
            _run(started, number("BENCH_WARM_UP"))
            for jobs in numbers("BENCH_HERD"):
                bare = _run(started, jobs)
                name = f"bare path over {bus}, {jobs:,} jobs"
                rows.append({"name": name, "unit": "jobs/s", "value": bare.done})
                rows.append({"name": f"{name}, submitted", "unit": "jobs/s",
                             "value": bare.submitted})  # fmt: skip
    return rows


def rate(bus: str, jobs: int) -> float:
    """Jobs a second, end to end, of a herd of so many: the middle one of some.

    One takes a second or two, and a noisy moment made it a half or twice as fast.
    """
    with servers(bus) as started:
        _run(started, number("BENCH_WARM_UP"))
        return median(_run(started, jobs).done for _ in range(HERDS))


@contextmanager
def servers(bus: str) -> Iterator[Servers]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as made,
        Postgres(Path(made) / "postgres") as postgres,
        Valkey(Path(made) / "valkey") as valkey,
    ):
        database = postgres.ensure_database("bare")
        if bus == "streams":
            with Store.from_url(valkey.url) as store:
                for name in (RUNS, STATUSES):
                    store.xgroup_create(name, "bare", mkstream=True)
            yield Servers(bus, database, valkey.url, valkey.url)
            return
        with Kafka(Path(made) / "kafka") as kafka:
            client = KafkaBus(KafkaAccess(kafka.url))
            client.ensure_topics(
                [Topic(name, PARTITIONS, keyed_by="nothing") for name in (RUNS, STATUSES)]
            )
            client.close()
            yield Servers(bus, database, valkey.url, kafka.url)


def _run(servers: Servers, jobs: int) -> Bare:
    fire = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    submitted = _submit(servers, jobs, fire)
    context = multiprocessing.get_context("spawn")
    began, ended = context.Value("d", 0.0), context.Value("d", 0.0)
    ready = context.Barrier(3)
    crew = [
        context.Process(target=move, args=(servers, fire, jobs, ready, began), daemon=True),
        context.Process(target=execute, args=(servers, jobs, ready), daemon=True),
        context.Process(target=record, args=(servers, jobs, ready, ended), daemon=True),
    ]
    for each in crew:
        each.start()
    try:
        until(lambda: _ended(crew), "the bare path has run", PATIENCE_SECONDS)
    finally:
        for each in crew:
            each.kill()
            each.join()
    return Bare(submitted, jobs / (ended.value - began.value))


def _ended(crew: Sequence[BaseProcess]) -> bool:
    """Whether all have; one that failed leaves the others waiting, and is told of at once."""
    codes = [each.exitcode for each in crew]
    if any(codes):
        raise RuntimeError(f"the parts of the bare path ended with {codes}")
    return None not in codes


def _submit(servers: Servers, jobs: int, fire: datetime) -> float:
    ledger = BareLedger(servers.database_url)
    body = {"type": "python", "handler": "builtin.noop"}
    ids = [new_job_id(fire) for _ in range(jobs)]
    rows = [(each, run_id(each, fire, "default"), body) for each in ids]
    began = time.monotonic()
    for start in range(0, jobs, BATCH):
        ledger.submit(rows[start : start + BATCH])
    took = time.monotonic() - began
    ledger.close()
    return jobs / took


def move(
    servers: Servers, fire: datetime, jobs: int, ready: Barrier, began: "Synchronized[float]"
) -> None:
    """Pages into the sorted set beforehand; from the instant on, out of it and to the topic."""
    ledger, store = BareLedger(servers.database_url), Store.from_url(servers.valkey_url)
    runs = topic(servers.bus, servers.bus_url, RUNS)
    after = first_run_id(fire)
    while page := ledger.page(after, BATCH):
        store.zadd(DUE, {each.bytes: 0 for each in page})
        after = page[-1]
    ready.wait(PATIENCE_SECONDS)
    began.value = time.monotonic()
    sent = 0
    while sent < jobs:
        popped: Any = store.zpopmin(DUE, BATCH)
        runs.send([each for each, _ in popped])
        sent += len(popped)


def execute(servers: Servers, jobs: int, ready: Barrier) -> None:
    ledger = BareLedger(servers.database_url)
    runs = topic(servers.bus, servers.bus_url, RUNS)
    statuses = topic(servers.bus, servers.bus_url, STATUSES)
    runs.receive()  # connects
    ready.wait(PATIENCE_SECONDS)
    done = 0
    while done < jobs:
        if got := runs.receive():
            claimed = ledger.claim([UUID(bytes=each) for each in got])
            statuses.send([each.bytes for each in claimed])
            done += len(claimed)


def record(servers: Servers, jobs: int, ready: Barrier, ended: "Synchronized[float]") -> None:
    ledger = BareLedger(servers.database_url)
    statuses = topic(servers.bus, servers.bus_url, STATUSES)
    statuses.receive()  # connects
    ready.wait(PATIENCE_SECONDS)
    done = 0
    while done < jobs:
        if got := statuses.receive():
            done += ledger.finish([UUID(bytes=each) for each in got])
    ended.value = time.monotonic()
