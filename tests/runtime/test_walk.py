"""Jobs walk from zip to zip: Lambda's loop, its mapping's rules, a real bus and real stores."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from infra.aws import assets
from infra.aws.brought import handler_files
from infra.aws.disk import Machine
from infra.local.kafka.server import Kafka
from infra.local.mapping import Mapped
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.contracts.dead_letters import DeadLetter, read_dead_letter
from lamplighter.contracts.msk import event_of, settle
from lamplighter.contracts.topics import (
    DEAD_LETTERS,
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    job_runs,
    job_runs_topics,
)
from lamplighter.domain.canary import INTERNAL_TENANT, canary_id
from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import Message, Record, Topic
from lamplighter.ports.ledger_queries import LAST_ID, RunFilter
from lamplighter.stages.capacity import executor_group
from tests.runtime.cell import Cell, recorded, until
from tests.runtime.conftest import Start

HANDLER = """
from lamplighter.adapters.targets.python.handlers import handler

@handler("shop.bill")
def bill(payload, context):
    return {"sum": sum(payload)}
"""


@pytest.fixture(scope="module")
def cell(
    postgres_server: Postgres, valkey_server: Valkey, kafka_server: Kafka, start: Start
) -> Iterator[Cell]:
    """Migrated by the function that does so, and at work."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as data:
        settings = {
            "LAMPLIGHTER_BUS": "kafka",
            "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS": kafka_server.url,
            "LAMPLIGHTER_DATABASE_URL": postgres_server.ensure_database(f"r{uuid4().hex}"),
            "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
            "LAMPLIGHTER_CELL": f"c{uuid4().hex[:12]}",
            "LAMPLIGHTER_POOLS": "default=64,narrow=8",
            "LAMPLIGHTER_WATCH_SECONDS": "2",
            "LAMPLIGHTER_DATA_DIR": data,
        }
        made = Cell(start, settings)
        made.function("migrate").invoke(recorded("migrate"))
        with made.serving():
            yield made
        made.bus.close()


def has_succeeded(cell: Cell, job_id: str) -> Callable[[], Any]:
    def look() -> Any:
        runs = cell.ask("GET", f"/jobs/{job_id}/runs")
        return runs if runs and runs[0]["status"] == "SUCCESS" else None

    return look


def submitted(cell: Cell, **job: object) -> str:
    made: str = cell.ask("POST", "/jobs", {"name": "a job", **job})["job_id"]
    return made


def letters(cell: Cell, wanted: Callable[[DeadLetter], bool], count: int) -> list[DeadLetter]:
    """The first so many dead letters of that kind."""
    found: list[DeadLetter] = []
    consumer = cell.bus.consumer(f"test-{uuid4()}", [DEAD_LETTERS.name])

    def look() -> bool:
        records = consumer.poll(100, 1.0)
        consumer.commit(records)
        found.extend(filter(wanted, map(read_dead_letter, records)))
        return len(found) >= count

    until(look)
    consumer.close()
    return found


def test_a_job_and_its_dependent_meet_every_function(
    cell: Cell, machine: Machine, record_property: Callable[[str, object], None]
) -> None:
    first = submitted(cell, payload={"n": 7})
    second = submitted(cell, after=[first])
    (run,) = until(has_succeeded(cell, second))

    assert cell.ask("GET", f"/runs/{run['run_id']}")["attempt_number"] == 1
    assert has_succeeded(cell, first)()
    for name in ("submit", "watcher", "executor", "recorder", "resolver", "query", "migrate"):
        record_property("cold start", (name, cell.function(name).cold_start_ms()))
    assert not machine.written()


def test_whatever_a_function_tells_is_a_line_of_its_own(cell: Cell) -> None:
    until(has_succeeded(cell, submitted(cell)))

    for name in ("executor", "recorder", "submit"):
        lines = cell.function(name).log().splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{")]
        assert told, name
        assert not [line for line in lines if "}{" in line]


def test_the_canary_fires_as_often_as_its_deployment_says(cell: Cell, start: Start) -> None:
    """Each deployment calls `migrate` with its own period: made, changed, and ended."""

    def deployed(seconds: int) -> str:
        made = start("migrate", {**cell.settings, "LAMPLIGHTER_CANARY_SECONDS": str(seconds)})
        canary: str = made.invoke(recorded("migrate"))["Data"]["Canary"]
        return canary

    def fires() -> list[datetime]:
        came_back = RunFilter(canary_id(0), RunState.SUCCESS)
        with closing(PostgresQueryLedger(cell.settings["LAMPLIGHTER_DATABASE_URL"])) as ledger:
            runs = ledger.list_runs(INTERNAL_TENANT, came_back, LAST_ID, 100).items
        return sorted(run.fire_at for run in runs)

    slow, quick = deployed(3600), deployed(2)
    until(lambda: len(fires()) >= 3)
    ended = deployed(0)

    assert (slow, quick, ended) == (str(canary_id(0)), str(canary_id(0)), "")
    assert {each.timestamp() % 2 for each in fires()} == {0.0}
    assert min(after - before for before, after in pairwise(fires())) == timedelta(seconds=2)
    until(lambda: cell.function("recorder").log().count('"CanaryLatenessMs":[') >= 3)


def test_what_is_delivered_twice_changes_nothing(cell: Cell) -> None:
    job = submitted(cell, payload="once")
    once = until(has_succeeded(cell, job))
    ended = cell.ask("GET", f"/runs/{once[0]['run_id']}")

    for name in ("executor", "recorder", "resolver"):
        for event, _ in list(cell.deliveries[name]):
            assert cell.function(name).invoke(event) == {"batchItemFailures": []}

    assert cell.ask("GET", f"/jobs/{job}/runs") == once
    assert cell.ask("GET", f"/runs/{once[0]['run_id']}") == ended


def test_what_cannot_be_read_becomes_a_dead_letter_and_holds_up_nobody(cell: Cell) -> None:
    poison = f"no JSON {uuid4()}".encode()
    topics = {
        "executor": job_runs("default", JobClass.P2),
        "recorder": JOB_EVENTS.name,
        "resolver": DEPENDENCY_EVENTS.name,
    }

    cell.bus.publish([Message(topic, poison, partition=0) for topic in topics.values()])
    found = letters(cell, lambda letter: letter.value == poison, 3)

    assert {letter.function: letter.topic for letter in found} == topics
    assert until(has_succeeded(cell, submitted(cell)))


def test_a_record_that_breaks_its_function_is_put_aside_with_lambdas_error(
    cell: Cell, start: Start
) -> None:
    topic = Topic(f"poison-{uuid4()}", partitions=1, keyed_by="nothing")
    cell.bus.ensure_topics([topic])
    cell.bus.publish([Message(topic.name, b'{"job_id": 1}'), Message(topic.name, b"{}")])

    with cell.mapping(Mapped("resolver", f"test-{uuid4()}", (topic.name,)), start("resolver")):
        found = letters(cell, lambda letter: letter.topic == topic.name, 2)

    assert [letter.offset for letter in found] == [0, 1]
    assert all("FunctionFailed: InvalidSettings" in letter.why for letter in found)


def test_of_a_batch_that_finds_no_room_the_rest_comes_again(cell: Cell, start: Start) -> None:
    sleep = {"type": "python", "handler": "builtin.sleep"}
    jobs = [submitted(cell, pool="narrow", target=sleep, payload=2) for _ in range(2)]
    batch = records_of(cell, "narrow", 2)
    # Of its 16 s, a run may need 4, and 10 are kept back: what has not begun within 2 s is left.
    room = {
        "LAMPLIGHTER_POOL": "narrow",
        "LAMPLIGHTER_PLACES": "1",
        "LAMPLIGHTER_LONGEST_SECONDS": "4",
    }
    narrow = start("executor", {**cell.settings, **room}, seconds=16)

    left = []
    while batch:
        answer = narrow.invoke(event_of(batch))
        batch = settle(batch, answer).again
        left.append(len(batch))

    assert left[-2:] == [1, 0]
    for job in jobs:
        until(has_succeeded(cell, job))


def test_an_executor_runs_the_handlers_of_its_deployer(
    cell: Cell, machine: Machine, start: Start, tmp_path: Path
) -> None:
    """Laid out as their layer is, which is one more folder under /opt."""
    mine = tmp_path / "mine"
    (mine / "shop").mkdir(parents=True)
    (mine / "shop" / "nightly.py").write_text(HANDLER, encoding="utf-8")
    layer = assets.write(handler_files(mine), tmp_path / "layer")
    disk = replace(machine.disk("executor"), brought=layer)
    told = {"LAMPLIGHTER_POOL": "narrow", "LAMPLIGHTER_HANDLER_MODULES": "shop.nightly"}
    executor = start("executor", {**cell.settings, **told}, disk=disk)
    target = {"type": "python", "handler": "shop.bill"}
    job = submitted(cell, pool="narrow", target=target, payload=[1, 2])

    executor.invoke(event_of(records_of(cell, "narrow", 1)))

    (run,) = until(has_succeeded(cell, job))
    assert cell.ask("GET", f"/runs/{run['run_id']}")["result"] == {"sum": 3}


def records_of(cell: Cell, pool: str, count: int) -> list[Record]:
    """So many runs of a pool, off the bus."""
    topics = [topic.name for topic in job_runs_topics(pool)]
    found: list[Record] = []
    with closing(cell.bus.consumer(executor_group(pool), topics)) as consumer:

        def look() -> bool:
            found.extend(consumer.poll(100, 1.0))
            return len(found) == count

        until(look)
        consumer.commit(found)
    return found
