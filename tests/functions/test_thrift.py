"""The functions of a thrifty cell: what they open at the database, and what they leave behind."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from functions.executor.handler import handler as executor
from functions.migrate.handler import handler as migrate
from functions.query.handler import handler as query
from functions.recorder.handler import handler as recorder
from functions.submit.handler import handler as submit
from functions.watcher.handler import handler as watcher
from infra.local.lambdas import Context
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.valkey.client import Client
from lamplighter.adapters.valkey.leases import ValkeyLeases
from lamplighter.adapters.valkey.queue import ValkeyQueue
from lamplighter.adapters.valkey.rest import ValkeyRest
from lamplighter.contracts.msk import event_of
from lamplighter.contracts.topics import JOB_EVENTS, WORKER_EVENTS, job_runs_topics
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.clock import this_machine
from lamplighter.stages.duties import Report
from lamplighter.stages.thrift import LEAD, LONGEST_REST, ThriftyWatcher
from lamplighter.stages.watch import Watcher
from tests.functions.calling import read, recorded
from tests.stages.watch_world import eventually

TOPICS = [topic.name for topic in job_runs_topics("default")]
PATIENCE = 20.0


class Cell:
    """A thrifty one on real stores, wired by the environment, and its database from outside."""

    def __init__(self, server: Postgres, valkey: Valkey, name: str) -> None:
        self._database = f"f{uuid4().hex}"
        self.url = server.ensure_database(self._database)
        self._outside = psycopg.connect(server.ensure_database("outside"), autocommit=True)
        self.store = Client(valkey.url, cell=name)
        self.store.ask("FLUSHALL")  # the bus is the same for all cells

    def connections(self) -> int:
        """Open at this moment, by us: the server's own vacuum looks in as well."""
        asked = """SELECT count(*) FROM pg_stat_activity
                   WHERE datname = %s AND backend_type = 'client backend'"""
        [[count]] = self._outside.execute(asked, [self._database]).fetchall()
        return int(count)

    def sessions(self) -> int:
        """That there ever were."""
        asked = "SELECT sessions FROM pg_stat_database WHERE datname = %s"
        [[count]] = self._outside.execute(asked, [self._database]).fetchall()
        return int(count)

    def is_left_alone(self) -> None:
        """The server needs a moment to see that somebody has gone."""
        eventually(lambda: self.connections() == 0)

    def empty_store(self) -> None:
        for key in self.store.ask("KEYS", self.store.key("*")):
            self.store.ask("DEL", key)

    def close(self) -> None:
        self._outside.close()
        self.store.close()


@pytest.fixture
def cell(
    postgres_server: Postgres,
    valkey_server: Valkey,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cell]:
    name = f"c{uuid4().hex[:12]}"
    made = Cell(postgres_server, valkey_server, name)
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", made.url)
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", valkey_server.url)
    monkeypatch.setenv("LAMPLIGHTER_CELL", name)
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(folder))
    monkeypatch.setenv("LAMPLIGHTER_WATCH_SECONDS", "10")
    monkeypatch.setenv("LAMPLIGHTER_PARTITION_DAYS_AHEAD", "1")
    monkeypatch.setenv("LAMPLIGHTER_THRIFTY", "true")
    wiring.forget()
    migrate(recorded("migrate"), Context("migrate"))
    yield made
    wiring.presence().stop()
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()
    made.close()


def watch() -> dict[str, Any]:
    return watcher(recorded("watcher"), Context("watcher"))


def post(path: str, body: dict[str, Any]) -> Any:
    event = recorded("submit") | {"rawPath": path, "body": json.dumps(body)}
    answered = read(submit(event, Context("submit")))
    assert answered.status < 300, answered.body
    return answered.body


def deliver(group: str, topics: list[str], to: Callable[..., Any]) -> int:
    """What lies on the bus, in one event. How much it was."""
    consumer = wiring.bus().consumer(group, topics)
    records = consumer.poll(100, PATIENCE)
    if records:
        to(event_of(records), Context(group))
    consumer.commit(records)
    consumer.close()
    return len(records)


def test_a_watcher_with_nothing_to_do_never_connects(cell: Cell) -> None:
    first = watch()
    cell.is_left_alone()
    before = cell.sessions()

    idle = [watch() for _ in range(5)]

    assert first["led_epochs"]
    assert not any(report["led_epochs"] for report in idle)
    asleep_until = {datetime.fromisoformat(report["asleep_until"]) for report in idle}
    assert len(asleep_until) == 1
    assert LEAD < asleep_until.pop() - datetime.now(UTC) <= LONGEST_REST
    assert (cell.sessions(), cell.connections()) == (before, 0)


def test_what_is_submitted_while_all_sleep_runs_without_a_watcher(cell: Cell) -> None:
    watch()

    job_id = post("/jobs", {"name": "now"})["job_id"]
    cell.is_left_alone()
    assert deliver(executor_group("default"), TOPICS, executor) == 1
    cell.is_left_alone()
    assert deliver("recorder", [JOB_EVENTS.name, WORKER_EVENTS.name], recorder) > 0
    cell.is_left_alone()

    event = recorded("query") | {"rawPath": f"/jobs/{job_id}/status"}
    status = read(query(event, Context("query"))).body
    assert status["latest_run"]["status"] == "SUCCESS"
    cell.is_left_alone()
    report = watch()
    assert report["led_epochs"]
    assert report["asleep_until"]
    assert report["published"] == 0
    cell.is_left_alone()


def test_what_is_submitted_for_later_is_looked_at_once_and_slept_until(cell: Cell) -> None:
    fire = datetime.now(UTC) + timedelta(minutes=20)
    watch()

    post("/jobs", {"name": "later", "schedule_time": fire.isoformat()})

    until = datetime.fromisoformat(watch()["asleep_until"])
    assert abs(until - fire) < timedelta(seconds=1)
    assert not watch()["led_epochs"]


def test_an_emptied_store_sends_the_watcher_to_the_ledger(cell: Cell) -> None:
    watch()
    # Nobody is told of it: its hint went with the store.
    now = wiring.ledger().now()
    job = Job(job_id=uuid4(), name="a job", schedule=Schedule(ScheduleType.IMMEDIATE, now))
    wiring.ledger().submit([Submission(job, now)])
    wiring.ledger().let_go()
    assert not watch()["led_epochs"]

    cell.empty_store()

    found: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: found.append(watch()))
    thread.start()
    assert deliver(executor_group("default"), TOPICS, executor) == 1
    deliver("recorder", [JOB_EVENTS.name, WORKER_EVENTS.name], recorder)
    thread.join(30)
    assert found[0]["published"] == 1
    assert found[0]["asleep_until"]


def test_of_two_watchers_one_looks_and_both_sleep(cell: Cell) -> None:
    due = datetime.now(UTC) + timedelta(seconds=1)
    post("/jobs", {"name": "soon", "schedule_time": due.isoformat()})
    reports: list[Report] = []
    others = [Other(cell, holder) for holder in ("one", "other")]
    threads = [threading.Thread(target=other.watch, args=[reports]) for other in others]

    for thread in threads:
        thread.start()
    assert deliver(executor_group("default"), TOPICS, executor) == 1
    deliver("recorder", [JOB_EVENTS.name, WORKER_EVENTS.name], recorder)
    for thread in threads:
        thread.join(30)

    assert sorted(report.published for report in reports) == [0, 1]
    assert [report.led_epochs for report in reports if not report.published] == [[]]
    assert all(report.asleep_until for report in reports)
    cell.is_left_alone()


class Other:
    """A watcher as in a process of its own."""

    def __init__(self, cell: Cell, holder: str) -> None:
        self._ledger, self._holder = PostgresLedger(cell.url), holder
        self._queue = ValkeyQueue(cell.store)
        self._rest, self._gate = ValkeyRest(cell.store), ValkeyLeases(cell.store)

    def watch(self, reports: list[Report]) -> None:
        watcher = ThriftyWatcher(
            self._ledger,
            self._rest,
            self._gate,
            self._queue,
            self._hire,
            holder=self._holder,
            now=this_machine,
            let_go=self._ledger.let_go,
        )
        reports.append(watcher.watch(20))

    def _hire(self, report: Report, on_renewal: Callable[[], None]) -> Watcher:
        window = Window(wiring.bus(), {"default": 100})
        return Watcher(
            self._ledger,
            self._queue,
            wiring.bus(),
            holder=self._holder,
            window=window,
            report=report,
            on_renewal=on_renewal,
        )


def test_a_run_with_a_worker_keeps_the_watcher_up(cell: Cell) -> None:
    post("/jobs", {"name": "now"})
    assert deliver(executor_group("default"), TOPICS, executor) == 1

    assert watcher(recorded("watcher"), Context("watcher", seconds=7))["asleep_until"] is None


def test_an_idle_executor_leaves_the_ledger_alone(cell: Cell) -> None:
    wiring.presence().look()
    cell.is_left_alone()
    before = cell.sessions()

    wiring.presence().look()

    assert wiring.cache().worker_statuses([wiring.process()])
    assert cell.sessions() == before
