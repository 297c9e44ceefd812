"""The functions that read topics and schedules, called with events exactly as AWS sends them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from functions.executor.handler import handler as executor
from functions.migrate.handler import handler as migrate
from functions.recorder.handler import handler as recorder
from functions.resolver.handler import handler as resolver
from functions.watcher.handler import handler as watcher
from infra.local.lambdas import Context
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.contracts.dead_letters import read_dead_letter
from lamplighter.contracts.topics import DEAD_LETTERS
from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState

EVENTS = Path(__file__).parents[2] / "events"
RUN = "019a8d2b-5a00-8c1d-9f3e-2b7a6c5d4e3f"


def event(name: str, *replaced: tuple[str, str]) -> dict[str, Any]:
    """A recorded event; in its base64 values these texts are replaced."""
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    for records in found.get("records", {}).values():
        for record in records:
            record["value"] = _changed(record["value"], replaced)
    return found


def _changed(value: str, replaced: tuple[tuple[str, str], ...]) -> str:
    import base64

    text = base64.b64decode(value).decode()
    for old, new in replaced:
        text = text.replace(old, new)
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def cell(
    postgres_server: Postgres,
    valkey_server: Valkey,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[None]:
    """A cell of its own on real stores, wired as on Lambda: by the environment alone."""
    database = postgres_server.ensure_database(f"f{uuid4().hex}")
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", database)
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", f"{valkey_server.url}")
    monkeypatch.setenv("LAMPLIGHTER_CELL", f"c{uuid4().hex[:12]}")
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(folder))
    monkeypatch.setenv("LAMPLIGHTER_WATCH_SECONDS", "1")
    wiring.forget()
    yield
    wiring.presence().stop()
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()


def a_due_run() -> tuple[Job, UUID]:
    ledger = wiring.ledger()
    now = ledger.now()
    job = Job(
        job_id=uuid4(), name="a job", schedule=Schedule(ScheduleType.IMMEDIATE, now), payload=7
    )
    ledger.submit([Submission(job, now)])
    return job, run_id(job.job_id, now, job.pool)


@pytest.mark.usefixtures("cell")
def test_a_job_meets_every_function_and_each_takes_aws_s_event() -> None:
    told = migrate(event("migrate"), Context("migrate"))
    assert "job-runs.tasks.p4" in told["topics"]
    job, run = a_due_run()

    report = watcher(event("watcher"), Context("watcher"))
    assert report["published"] == 1

    answered = executor(event("executor", (RUN, str(run))), Context("executor"))
    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).state is RunState.RUNNING

    job_id = "019a8d2b-5a00-7c1d-9f3e-2b7a6c5d4e3f"
    answered = recorder(
        event("recorder", (RUN, str(run)), (job_id, str(job.job_id))), Context("recorder")
    )
    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).state is RunState.SUCCESS

    answered = resolver(event("resolver", (RUN, str(run))), Context("resolver"))
    assert answered == {"batchItemFailures": []}


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize("name", ["executor", "recorder", "resolver"])
def test_what_cannot_be_read_becomes_a_dead_letter(name: str) -> None:
    migrate({}, Context("migrate"))
    handler = {"executor": executor, "recorder": recorder, "resolver": resolver}[name]

    answered = handler(event(name, ("{", "[")), Context(name))

    assert answered == {"batchItemFailures": []}
    letters = wiring.bus().consumer(f"test {name}", [DEAD_LETTERS.name])
    found = [read_dead_letter(each) for each in letters.poll(100, 10.0)]
    letters.close()
    assert name in {letter.function for letter in found}


@pytest.mark.usefixtures("cell")
def test_a_run_that_is_taken_is_not_run_again() -> None:
    migrate({}, Context("migrate"))
    _, run = a_due_run()
    wiring.ledger().claim("another", uuid4(), [Ticket(run, 0)])

    answered = executor(event("executor", (RUN, str(run))), Context("executor"))

    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).executor_id == "another"
