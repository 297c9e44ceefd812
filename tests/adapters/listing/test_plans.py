"""Pages are read by key: no sort of everything, and no other day's partition."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.database import Bounds
from lamplighter.adapters.postgres.listing import PostgresQueryLedger, query
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.domain.ids import first_run_id
from lamplighter.ports.ledger_queries import LAST_ID
from tests.adapters.ledger.builders import TENANT, one_off

pytestmark = pytest.mark.xdist_group("listing plans")  # they share tables that take time to fill

NOTHING: dict[str, Any] = dict.fromkeys(
    ("status", "schedule_type", "pool", "tag", "name", "due", "origin", "job_id")
)


@pytest.fixture(scope="module")
def filled(postgres_server: Postgres) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    url = postgres_server.ensure_database("listing_plans")
    migrate(url, days_ahead=2)
    ledger = PostgresQueryLedger(url)
    now = ledger.now()
    for tenant in (TENANT, "default"):
        ledger.submit(
            [one_off(now + timedelta(minutes=n % 60), tenant=tenant) for n in range(3000)]
        )
    ledger.close()
    with psycopg.connect(url, autocommit=True, options=Bounds().as_options()) as conn:
        conn.execute("ANALYZE")
        yield conn


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _explained(
    conn: psycopg.Connection[tuple[Any, ...]], which: str, **params: Any
) -> list[dict[str, Any]]:
    given = {**NOTHING, "tenant": TENANT, "before": LAST_ID, "limit": 10, "scan": 200, **params}
    statement = b"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + query(which)
    [[[explained]]] = conn.execute(statement, given).fetchall()
    return [node for node in _nodes(explained["Plan"]) if node["Actual Loops"]]


@pytest.mark.parametrize("tenant", [TENANT, "default"])
@pytest.mark.parametrize("where", [{"scan": 10}, {"status": 2}, {"tag": "a"}, {"name": "x"}])
def test_jobs_are_read_by_key(
    filled: psycopg.Connection[tuple[Any, ...]], tenant: str, where: dict[str, Any]
) -> None:
    nodes = _explained(filled, "jobs", tenant=tenant, **where)
    read = [node for node in nodes if node.get("Relation Name") == "jobs"]
    assert {node["Node Type"] for node in read} <= {"Index Scan", "Index Only Scan"}
    limit = where.get("scan", 200)
    assert max(node["Actual Rows"] for node in read) <= limit


@pytest.mark.parametrize("where", [{"scan": 10}, {"status": 10}, {"due": True}, {"origin": "x"}])
def test_runs_are_read_by_key_and_only_in_their_range(
    filled: psycopg.Connection[tuple[Any, ...]], where: dict[str, Any]
) -> None:
    now = datetime.now(UTC)
    bounds = {"first": first_run_id(now - timedelta(minutes=1)), "before": first_run_id(now)}
    nodes = _explained(filled, "runs", **bounds, **where)
    read = [node for node in nodes if node.get("Relation Name", "").startswith("job_runs")]
    assert {node["Node Type"] for node in read} <= {"Index Scan", "Index Only Scan"}
    days = {f"job_runs_{at:%Y%m%d}" for at in (now, now - timedelta(minutes=1))}
    assert {node["Relation Name"] for node in read} <= days


def test_the_runs_of_a_job_are_read_by_its_index(
    filled: psycopg.Connection[tuple[Any, ...]],
) -> None:
    [[job_id]] = filled.execute("SELECT job_id FROM jobs LIMIT 1").fetchall()
    nodes = _explained(filled, "runs", first=first_run_id(datetime.now(UTC)), job_id=job_id)
    used = {node["Index Name"] for node in nodes if "Index Name" in node}
    assert all("job_id" in name or name.endswith("_pkey") for name in used), used
    assert max(node["Actual Rows"] for node in nodes) <= 2


def test_workers_and_rollups_are_read_by_key(filled: psycopg.Connection[tuple[Any, ...]]) -> None:
    filled.execute(
        "INSERT INTO workers (worker_id, pool, capacity) "
        "SELECT 'w' || n, 'default', 1 FROM generate_series(1, 2000) AS n ON CONFLICT DO NOTHING"
    )
    filled.execute(
        "INSERT INTO stats_minute SELECT date_trunc('minute', now()) - n * interval '1 min', "
        "'acme', 'default', 2, 10, 5, 50, 5, 9 FROM generate_series(0, 5000) AS n "
        "ON CONFLICT DO NOTHING"
    )
    filled.execute("ANALYZE workers, stats_minute")
    now = datetime.now(UTC)
    for name, params in (
        ("workers", {"after": "w5"}),
        ("minutes", {"since": now - timedelta(minutes=60), "until": now}),
    ):
        nodes = _explained(filled, name, **params)
        assert "Seq Scan" not in {node["Node Type"] for node in nodes}


def test_workers_are_counted_in_one_look(filled: psycopg.Connection[tuple[Any, ...]]) -> None:
    filled.execute(
        "INSERT INTO workers (worker_id, pool, capacity) "
        "SELECT 'w' || n, 'pool ' || n % 3, 1 FROM generate_series(1, 2000) AS n "
        "ON CONFLICT DO NOTHING"
    )
    nodes = _explained(filled, "crews", since=datetime.now(UTC) - timedelta(seconds=15))
    read = [node for node in nodes if "Relation Name" in node]
    assert [(node["Relation Name"], node["Actual Loops"]) for node in read] == [("workers", 1)]
    # What is sorted are pools, not workers.
    sorted_rows = [node["Actual Rows"] for node in nodes if node["Node Type"] == "Sort"]
    assert max(sorted_rows, default=0) <= 10


def test_rollups_come_back_as_they_were_written(
    filled: psycopg.Connection[tuple[Any, ...]],
) -> None:
    filled.execute(
        "INSERT INTO stats_minute VALUES ('2020-01-01Z', 'other', 'eu', 1, 11, 5, 50, 5, 9) "
        "ON CONFLICT DO NOTHING"
    )
    ledger = PostgresQueryLedger(filled.info.dsn + f" password={filled.info.password}")
    start = datetime(2020, 1, 1, tzinfo=UTC)
    [minute] = ledger.list_minutes("other", start, start + timedelta(minutes=1))
    ledger.close()
    assert (minute.pool, minute.job_class.name, minute.state.name) == ("eu", "P1", "FAILED")
    assert (minute.runs, minute.duration_ms, minute.max_lateness_ms) == (5, 50, 9)
