"""The same handlers over PostgreSQL, wired from settings as they are in a deployment."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from functions.query import handler as query
from functions.submit import handler as submit
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter import wiring
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.contracts.topics import all_topics
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.run import Ticket
from lamplighter.ports.ledger_queries import LAST_ID, RunFilter
from tests.functions.calling import Client, read, recorded


@pytest.fixture(scope="module")
def url(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database("functions")
    migrate(url, days_ahead=2)
    return url


@pytest.fixture
def call(
    url: str, valkey_server: Valkey, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Client]:
    """Wired anew, as in a process of its own."""
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", url)
    monkeypatch.setenv("LAMPLIGHTER_VALKEY_URL", valkey_server.url)
    monkeypatch.setenv("LAMPLIGHTER_CELL", f"c{uuid4().hex[:12]}")
    monkeypatch.setenv("LAMPLIGHTER_DATA_DIR", str(folder))
    wiring.forget()
    wiring.bus().ensure_topics(all_topics())
    yield Client(wiring.desk)
    wiring.bus().close()
    wiring.ledger().close()
    wiring.forget()


def test_a_job_is_submitted_run_and_read(call: Client) -> None:
    job_id = call.submit(payload={"a": [1, None, "ä"]}, tags=["x"], metadata={"b": 1})
    assert call("GET", f"/jobs/{job_id}").body["payload"] == {"a": [1, None, "ä"]}
    run = call("GET", f"/jobs/{job_id}/status").body["latest_run"]
    assert run["status"] == "QUEUED"
    ledger = wiring.ledger()
    [due] = ledger.list_runs("default", RunFilter(UUID(job_id)), LAST_ID, 1).items
    claim_id = new_job_id(ledger.now())
    assert ledger.claim("executor-007", claim_id, [Ticket(due.run_id, 0)]).claimed
    running = call("GET", f"/jobs/{job_id}/status").body["latest_run"]
    assert (running["status"], running["executor_id"]) == ("RUNNING", "executor-007")
    assert "has been running since" in call("GET", f"/jobs/{job_id}/explain").body["explanation"]
    assert [each["run_id"] for each in call("GET", f"/jobs/{job_id}/runs").body] == [run["run_id"]]
    [worker] = call("GET", "/workers").body["workers"]
    assert (worker["worker_id"], worker["status"]) == ("executor-007", "ALIVE")


def test_keys_edits_and_cancels_hold_on_postgres_too(call: Client) -> None:
    headers = {"Idempotency-Key": "pg"}
    body = {"name": "x", "cron_expression": "0 0 * * *", "after": [], "catch_up": "none"}
    made = call("POST", "/jobs", body, headers=headers)
    assert call("POST", "/jobs", body, headers=headers).body == made.body
    assert call("POST", "/jobs", {**body, "name": "y"}, headers=headers).status == 409
    path = f"/jobs/{made.body['job_id']}"
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    edited = call("PUT", path, {"schedule_time": soon}, headers={"If-Match": '"1"'})
    assert (edited.status, edited.body["schedule_type"]) == (200, "FUTURE")
    assert call("PUT", path, {"name": "z"}, headers={"If-Match": '"1"'}).status == 412
    now = call("POST", f"{path}/runNow", headers=headers)
    assert call("POST", f"{path}/runNow", headers=headers).body == now.body
    assert call("POST", f"{path}/pause").body["status"] == "PAUSED"
    assert call("DELETE", path).body["status"] == "CANCELLED"
    assert call("PUT", path, {"name": "z"}).status == 409


def test_a_workflow_and_a_backfill_are_written(call: Client) -> None:
    jobs = [{"name": "a", "cron_expression": "0 * * * *"}, {"name": "b", "after": ["a"]}]
    ids = call("POST", "/workflows", {"jobs": jobs}).body["jobs"]
    status = call("GET", f"/jobs/{ids['b']}/status").body["latest_run"]
    assert status["status"] == "BLOCKED"
    assert "'a' (SCHEDULED)" in call("GET", f"/jobs/{ids['b']}/explain").body["explanation"]
    start = datetime.now(UTC) - timedelta(hours=5)
    span = {"start": start.isoformat(), "end": (start + timedelta(hours=5)).isoformat()}
    made = call("POST", f"/jobs/{ids['a']}/backfill", span)
    assert made.body["fires"] == 5
    unknown = call(
        "POST", "/jobs", {"name": "c", "after": ["6f1e2a7c-0000-4000-8000-000000000000"]}
    )
    assert (unknown.status, unknown.error["code"]) == (422, "invalid_graph")


def test_ten_thousand_jobs_in_one_request(call: Client, url: str) -> None:
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    jobs = [{"name": f"job {n}", "schedule_time": soon, "payload": {"n": n}} for n in range(10_000)]
    event = recorded("submit")
    event |= {"rawPath": "/jobs/batch", "body": json.dumps({"jobs": jobs})}

    began = time.perf_counter()
    made = read(submit.handler(event, None))
    took = time.perf_counter() - began

    assert (made.status, len(set(made.body["job_ids"]))) == (201, 10_000)
    with psycopg.connect(url) as conn:
        [[count]] = conn.execute("SELECT count(*) FROM jobs WHERE name LIKE 'job %'").fetchall()
    assert count == 10_000
    assert took < 15, "a request must end within API Gateway's 30 s, also on a slow machine"
    page = read(query.handler(recorded("query"), None))
    assert (page.status, len(page.body["jobs"])) == (200, 10)


def test_a_database_that_is_away_is_a_503(call: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMPLIGHTER_DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/nowhere")
    wiring.forget()

    refused = call("GET", "/readyz")

    assert refused.status == 503
    assert "hunter2" not in str(refused.body)
