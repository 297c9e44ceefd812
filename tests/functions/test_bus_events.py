"""The functions that read topics and schedules, called with events exactly as AWS sends them.

Those of Kafka's mapping, with Valkey Streams as the bus, and those of SQS's, with moto.
"""

import base64
import json
from collections.abc import Iterator
from contextlib import closing, nullcontext
from enum import StrEnum
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
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import Consumer
from tests.adapters.bus.moto_sqs import playing_sqs
from tests.adapters.bus.play import until

EVENTS = Path(__file__).parents[2] / "events"
RUN = "019a8d2b-5a00-8c1d-9f3e-2b7a6c5d4e3f"


class Events(StrEnum):
    """Whose mapping calls: the bus that the functions are wired with, and their recorded events."""

    KAFKA = "streams"
    SQS = "sqs"

    def event(self, name: str, *replaced: tuple[str, str]) -> dict[str, Any]:
        """A recorded event; in its values these texts are replaced."""
        suffix = "_sqs" if self is Events.SQS else ""
        found = event(f"{name}{suffix}")
        for records in found.get("records", {}).values():
            for record in records:
                text = base64.b64decode(record["value"]).decode()
                record["value"] = base64.b64encode(_changed(text, replaced).encode()).decode()
        for message in found.get("Records", []):
            message["body"] = _changed(message["body"], replaced)
        return found


def event(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EVENTS / f"{name}.json").read_text())
    return found


def _changed(text: str, replaced: tuple[tuple[str, str], ...]) -> str:
    for old, new in replaced:
        text = text.replace(old, new)
    return text


@pytest.fixture(params=list(Events))
def mapping(request: pytest.FixtureRequest) -> Iterator[Events]:
    with playing_sqs() if request.param is Events.SQS else nullcontext():
        yield request.param


@pytest.fixture
def cell(
    mapping: Events,
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
    monkeypatch.setenv("LAMPLIGHTER_BUS", mapping.value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
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
def test_a_job_meets_every_function_and_each_takes_aws_s_event(mapping: Events) -> None:
    told = migrate(event("migrate"), Context("migrate"))
    assert "job-runs.tasks.p4" in told["topics"]
    job, run = a_due_run()

    report = watcher(event("watcher"), Context("watcher"))
    assert report["published"] == 1

    answered = executor(mapping.event("executor", (RUN, str(run))), Context("executor"))
    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).state is RunState.RUNNING

    job_id = "019a8d2b-5a00-7c1d-9f3e-2b7a6c5d4e3f"
    answered = recorder(
        mapping.event("recorder", (RUN, str(run)), (job_id, str(job.job_id))), Context("recorder")
    )
    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).state is RunState.SUCCESS

    answered = resolver(mapping.event("resolver", (RUN, str(run))), Context("resolver"))
    assert answered == {"batchItemFailures": []}


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize("name", ["executor", "recorder", "resolver"])
def test_what_cannot_be_read_becomes_a_dead_letter(name: str, mapping: Events) -> None:
    migrate({}, Context("migrate"))
    handler = {"executor": executor, "recorder": recorder, "resolver": resolver}[name]

    answered = handler(mapping.event(name, ("{", "[")), Context(name))

    assert answered == {"batchItemFailures": []}
    with closing(wiring.bus().consumer(f"test {name}", [DEAD_LETTERS.name])) as letters:
        until(lambda: name in _mourned(letters), "its letter is among the others'")


def _mourned(letters: Consumer) -> set[str]:
    """Which functions wrote the next letters."""
    records = letters.poll(100, 1.0)
    letters.commit(records)
    return {read_dead_letter(each).function for each in records}


@pytest.mark.usefixtures("cell")
def test_a_run_that_is_taken_is_not_run_again(mapping: Events) -> None:
    migrate({}, Context("migrate"))
    _, run = a_due_run()
    wiring.ledger().claim("another", uuid4(), [Ticket(run, 0)])

    answered = executor(mapping.event("executor", (RUN, str(run))), Context("executor"))

    assert answered == {"batchItemFailures": []}
    assert wiring.ledger().run("default", run).executor_id == "another"


@pytest.mark.usefixtures("cell")
def test_what_was_accepted_meanwhile_is_written_down_by_the_recorder(mapping: Events) -> None:
    migrate({}, Context("migrate"))
    asked = mapping.event("recorder_requests")

    assert recorder(asked, Context("recorder")) == {"batchItemFailures": []}

    job = UUID("0199802a-4540-7a3c-9b21-5d6e7f809a1b")
    assert wiring.ledger().job("default", job).name == "Daily Data Cleanup"


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize(
    ("mapping", "named"),
    [
        (Events.KAFKA, {"partition": "dependency-events-4", "offset": 310}),
        (Events.SQS, "059f36b4-87a3-44ab-83d2-661975830a7d"),
    ],
    indirect=["mapping"],
)
def test_without_the_ledger_everything_comes_again(
    mapping: Events, named: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate({}, Context("migrate"))
    monkeypatch.setattr(wiring.ledger(), "free_dependents", _away)

    answered = resolver(mapping.event("resolver"), Context("resolver"))

    assert answered == {"batchItemFailures": [{"itemIdentifier": named}]}


@pytest.mark.usefixtures("cell")
@pytest.mark.parametrize("mapping", [Events.SQS], indirect=True)
def test_a_message_that_breaks_its_function_is_put_aside_after_a_few_tries(
    mapping: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate({}, Context("migrate"))
    monkeypatch.setattr(wiring.ledger(), "free_dependents", _broken)
    sent = mapping.event("resolver")
    [message] = sent["Records"]

    assert resolver(sent, Context("resolver"))["batchItemFailures"] != []
    message["attributes"]["ApproximateReceiveCount"] = "3"
    assert resolver(sent, Context("resolver")) == {"batchItemFailures": []}

    with closing(wiring.bus().consumer("redrive", [DEAD_LETTERS.name])) as letters:
        until(lambda: _mourned(letters) == {"resolver"}, "its letter")


def _broken(*_: object) -> None:
    raise RuntimeError("for good")


def _away(*_: object) -> None:
    raise LedgerUnavailable("for a while")
