"""Pages over both ledgers: what is true of one is true of the other."""

from collections.abc import Iterator

import psycopg
import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.ports.ledger_queries import QueryLedger

_TABLES = ("job_runs", "schedules", "jobs", "workers", "claims", "stats_minute", "audit_log")
_EMPTY = "; ".join(f"DELETE FROM {table}" for table in _TABLES)


@pytest.fixture(scope="session")
def listing_url(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database("listing")
    migrate(url, days_ahead=2)
    return url


@pytest.fixture(scope="session")
def _postgres(listing_url: str) -> Iterator[PostgresQueryLedger]:
    ledger = PostgresQueryLedger(listing_url)
    yield ledger
    ledger.close()


@pytest.fixture(params=["memory", "postgres"])
def ledger(request: pytest.FixtureRequest) -> QueryLedger:
    """Empty."""
    if request.param == "memory":
        return MemoryQueryLedger()
    with psycopg.connect(request.getfixturevalue("listing_url"), autocommit=True) as conn:
        conn.execute(_EMPTY)
    ledger: QueryLedger = request.getfixturevalue("_postgres")
    return ledger
