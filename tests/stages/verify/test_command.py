"""`lamplighter verify` over PostgreSQL: rows that somebody has tampered with are found."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from click.testing import CliRunner, Result

from infra.local.postgres import Postgres
from lamplighter import wiring
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.cli.verify import verify
from lamplighter.domain.ids import epoch_ms, instant_of
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import Backoff, Overlap, ScheduleType, Upstream
from lamplighter.domain.run import Outcome, Run, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState
from lamplighter.stages.desk import fires_from
from lamplighter.stages.plan import plan

SECOND = timedelta(seconds=1)


class Town:
    """A ledger on PostgreSQL with some minutes behind it, for the price of some milliseconds."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.ledger = PostgresLedger(url)
        self.now = instant_of(epoch_ms(self.ledger.now()))
        self.ledger.ensure_partitions(self.now - timedelta(days=1), self.now)

    def submit(self, schedule: Schedule, **fields: Any) -> Job:
        """As if it had been written down half a minute ago."""
        then = self.now - 30 * SECOND
        timing = fires_from(schedule, then, {})
        job = Job(job_id=uuid4(), name="a job", schedule=schedule, **fields)
        self.ledger.submit([Submission(job, timing.first_fire, timing.next_fire)])
        return self.ledger.job("default", job.job_id)

    def live(self) -> None:
        lease = self.ledger.acquire_lease("watcher", "w1", timedelta(minutes=1))
        assert lease is not None
        for _ in plan(self.ledger, lease, self.ledger.now()):
            pass
        for _ in range(12):
            self.work()

    def work(self) -> None:
        due = self.ledger.wake(self.ledger.now() + SECOND, 1000)
        tickets = [Ticket(each.run_id, each.fence) for each in due]
        for claimed in self.ledger.claim("w1", uuid4(), tickets).claimed:
            failed = claimed.payload == "fail" and claimed.attempt == 1
            verdict = Verdict.FAILED if failed else Verdict.SUCCESS
            outcome = Outcome(run_id=claimed.run_id, fence=claimed.fence, verdict=verdict)
            self.ledger.finish([outcome])
            self.ledger.free_dependents([claimed.run_id])

    def runs(self, job: Job) -> list[Run]:
        return self.ledger.runs("default", job.job_id)[::-1]

    def sql(self, statement: str, *params: Any) -> None:
        with psycopg.connect(self.url) as conn:
            conn.execute(statement, params)

    def check(self, *words: str) -> Result:
        return CliRunner().invoke(verify, ["--database-url", self.url, "--since", "5m", *words])

    def found(self) -> dict[str, int]:
        shown = self.check("--json")
        report = json.loads(shown.output)
        assert shown.exit_code == (0 if report["ok"] else 1)
        return {each["rule"]: each["found"] for each in report["rules"] if each["found"]}


@pytest.fixture
def town(postgres_server: Postgres) -> Iterator[Town]:
    url = postgres_server.ensure_database(f"verify_{uuid4().hex[:8]}")
    migrate(url, days_ahead=1)
    made = Town(url)
    yield made
    made.ledger.close()


def _every_second(town: Town, **fields: Any) -> Schedule:
    start = town.now - 30 * SECOND
    return Schedule(ScheduleType.INTERVAL, interval_seconds=5, start_at=start, **fields)


def test_the_command_finds_what_was_done_to_rows(town: Town) -> None:
    steady = town.submit(_every_second(town), overlap=Overlap.QUEUE)
    flaky = town.submit(
        Schedule(ScheduleType.FUTURE, town.now - 10 * SECOND),
        payload="fail",
        policy=Policy(backoff=Backoff(base_seconds=0.001, jitter=False)),
    )
    below = town.submit(Schedule(ScheduleType.AFTER), after=(Upstream(str(flaky.job_id)),))
    town.live()
    assert [run.state for run in town.runs(below)] == [RunState.SUCCESS]
    assert len(town.runs(steady)) >= 6

    kept = town.check()
    assert (kept.exit_code, "every promise was kept" in kept.output) == (0, True), kept.output

    runs = [run for run in town.runs(steady) if run.start_time is not None]
    town.sql("DELETE FROM job_runs WHERE run_id = %s", runs[2].run_id)
    later = "UPDATE job_runs SET end_time = end_time + interval '1 hour' WHERE run_id = %s"
    town.sql(later, runs[0].run_id)
    town.sql(later, town.runs(flaky)[0].run_id)
    town.sql(
        "UPDATE run_attempts SET fence = 9, started_at = started_at - interval '5 min' "
        "WHERE run_id = %s",
        town.runs(flaky)[0].run_id,
    )

    broken = town.check()
    assert broken.exit_code == 1
    assert f"the fire at {runs[2].fire_at.isoformat(timespec='milliseconds')[:23]}" in broken.output
    assert town.found() == {
        "every_fire_has_a_run": 1,
        "one_completion_is_accepted": 1,
        "no_start_before_its_time": 1,
        "no_start_before_upstreams": 1,
        "runs_do_not_overlap": len(runs) - 2,
    }


def test_only_a_tenants_own_is_looked_at(town: Town) -> None:
    town.submit(Schedule(ScheduleType.FUTURE, town.now), tenant="default")
    town.sql("DELETE FROM job_runs")

    assert town.check("--tenant", "default").exit_code == 1
    assert town.check("--tenant", "other").exit_code == 0


def test_a_ledger_is_found_in_the_folder_of_a_stack(town: Town, tmp_path: Path) -> None:
    state = {"url": "http://127.0.0.1:1", "services": [{"name": "postgres", "url": town.url}]}
    (tmp_path / "stack.json").write_text(json.dumps(state))

    checked = CliRunner().invoke(verify, ["--data", str(tmp_path), "--since", "2026-01-01T00:00Z"])

    assert (checked.exit_code, "every promise was kept" in checked.output) == (0, True)


def test_without_a_ledger_nothing_is_said_to_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LAMPLIGHTER_DATABASE_URL", raising=False)
    nowhere = CliRunner().invoke(verify, ["--data", str(tmp_path)])
    closed = CliRunner().invoke(verify, ["--database-url", "postgresql://127.0.0.1:1/none"])

    assert (nowhere.exit_code, closed.exit_code) == (2, 2)
    assert "--database-url" in nowhere.output
    assert "cannot be read" in closed.output


def test_a_variable_that_is_misspelt_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMPLIGHTER_API_URL", "http://127.0.0.1:1")
    wiring.forget()
    refused = CliRunner().invoke(verify, ["--database-url", "postgresql://127.0.0.1:1/none"])
    wiring.forget()

    assert refused.exit_code == 2
    assert "LAMPLIGHTER_API_URL is not a setting" in refused.output


def test_a_time_without_an_offset_is_refused() -> None:
    refused = CliRunner().invoke(verify, ["--since", "2026-01-01T00:00"])

    assert refused.exit_code == 2
    assert "add one, or Z" in refused.output
