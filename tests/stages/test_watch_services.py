"""Watchers over real services that are stopped and started, and watchers that are themselves."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.contracts.messages import read_run
from lamplighter.contracts.topics import all_topics, job_runs_topics
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.bus import Bus, Consumer
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.watch import LEASE, Watcher
from tests.conftest import FAST
from tests.stages.watch_world import eventually, watching

TOPICS = [topic.name for topic in job_runs_topics("default")]


class Services:
    """A Postgres and a Valkey that nobody else uses, and a bus that is always there."""

    def __init__(self, postgres: Postgres, valkey: Valkey) -> None:
        self.postgres, self.valkey = postgres, valkey
        self.url = postgres.ensure_database("watched")
        migrate(self.url, days_ahead=1)
        self.ledger = PostgresLedger(self.url)
        self._ledgers: list[PostgresLedger] = []
        self.client = Client(valkey.url)
        self.queue = ValkeyQueue(self.client)
        self.watch_over(MemoryBus())

    def watch_over(self, bus: Bus) -> None:
        self.bus = bus
        bus.ensure_topics(all_topics())
        self.consumer: Consumer = bus.consumer(executor_group("default"), TOPICS)
        self._seen: set[UUID] = set()

    def watcher(self, holder: str) -> Watcher:
        self._ledgers.append(PostgresLedger(self.url))
        queue, window = ValkeyQueue(Client(self.valkey.url)), Window(self.bus, {"default": 100})
        return Watcher(self._ledgers[-1], queue, self.bus, holder=holder, window=window)

    def submit(self, seconds: float = 0.0) -> UUID:
        fire = self.ledger.now() + timedelta(seconds=seconds)
        job = Job(job_id=uuid4(), name="a job", schedule=Schedule(ScheduleType.FUTURE, fire))
        accepted = self.ledger.submit([Submission(job, fire)])
        with suppress(LamplighterError):
            self.queue.add(accepted.runs)
        return accepted.runs[0].run_id

    def await_run(self, run_id: UUID, within: float = 20.0) -> None:
        eventually(lambda: run_id in self._poll(), within)

    def _poll(self) -> set[UUID]:
        records = self.consumer.poll(1000, 0.01)
        self.consumer.commit(records)
        self._seen |= {read_run(record.value).run_id for record in records}
        return self._seen

    def leader(self) -> str | None:
        with suppress(LedgerUnavailable):
            lease = self.ledger.lease(LEASE)
            if lease is not None and lease.expires_at > self.ledger.now():
                return lease.holder
        return None

    def close(self) -> None:
        for ledger in (self.ledger, *self._ledgers):
            ledger.close()
        self.client.close()


@pytest.fixture(scope="module")
def _running() -> Iterator[Services]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as made:
        folder = Path(made)
        with Postgres(folder / "pg", settings=FAST) as postgres, Valkey(folder / "vk") as valkey:
            services = Services(postgres, valkey)
            yield services
            services.close()


@pytest.fixture
def services(_running: Services) -> Services:
    return _running


Spawn = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn(services: Services) -> Iterator[Spawn]:
    """A watcher in a process of its own. Whatever became of it, it does not outlive the test."""
    made: list[subprocess.Popen[bytes]] = []

    def start(holder: str) -> "subprocess.Popen[bytes]":
        arguments: list[Any] = [services.url, services.valkey.url, holder, "60"]
        command = [sys.executable, "-m", "tests.stages.watcher_process", *arguments]
        made.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        return made[-1]

    yield start
    for process in made:
        process.kill()
        process.communicate()


def test_valkey_may_go_and_come_back(services: Services) -> None:
    with watching(services.watcher("w1")) as one, watching(services.watcher("w2")) as other:
        services.await_run(services.submit())
        services.valkey.stop()
        services.await_run(services.submit())
        services.await_run(services.submit(0.5))
        later = services.submit(60.0)  # not due before Valkey is there, however long that takes
        services.valkey.start()
        eventually(lambda: services.queue.holds([later]))
        services.await_run(services.submit())

    assert one[0].published_directly + other[0].published_directly >= 2


def test_postgres_may_go_and_come_back(services: Services) -> None:
    with watching(services.watcher("w1")), watching(services.watcher("w2")):
        services.await_run(services.submit())
        waiting = services.submit(1.0)
        services.postgres.stop()
        services.postgres.start()
        eventually(services.leader)
        services.await_run(waiting)
        services.await_run(services.submit())


def test_a_killed_leader_is_replaced_and_a_stopped_one_stays_out(
    services: Services, spawn: Spawn
) -> None:
    services.watch_over(StreamsBus(services.valkey.url))
    first = spawn("first")
    eventually(lambda: services.leader() == "first")
    second = spawn("second")
    services.await_run(services.submit())
    first.kill()
    eventually(lambda: services.leader() == "second")
    services.await_run(services.submit())

    second.send_signal(signal.SIGSTOP)
    spawn("third")
    eventually(lambda: services.leader() == "third")
    second.send_signal(signal.SIGCONT)
    services.await_run(services.submit())
    assert services.leader() == "third"
    assert second.poll() is None
