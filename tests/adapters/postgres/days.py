"""Days of the ledger, seen from the catalog, and history to fill them with."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.run import Ticket
from tests.adapters.postgres.making import (
    HOUR,
    claim_one,
    fresh,
    submit_once,
    success,
    utc_now,
)

Conn = psycopg.Connection[tuple[Any, ...]]
OLD = timedelta(days=40)


def day_table(instant: datetime) -> str:
    return f"job_runs_{instant.astimezone(UTC):%Y%m%d}"


def attached(conn: Conn) -> list[str]:
    query = """
        SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'job_runs'::regclass ORDER BY 1
    """
    return [row[0] for row in conn.execute(query)]


def day_tables(conn: Conn) -> list[str]:
    query = "SELECT relname FROM pg_class WHERE relname LIKE 'job\\_runs\\_2%' AND relkind = 'r'"
    return sorted(row[0] for row in conn.execute(query))


def history(ledger: PostgresLedger, fire: datetime) -> Ticket:
    """A job that fired once, long ago, and whose run is still open."""
    job, _ = submit_once(ledger, utc_now() + HOUR, tenant=fresh("t"))
    [due] = ledger.add_run(job.tenant, job.job_id, "backfill:1", fire)
    return Ticket(due.run_id, due.fence)


def finished(ledger: PostgresLedger, fire: datetime) -> UUID:
    ticket = history(ledger, fire)
    fence = claim_one(ledger, ticket, "worker")
    ledger.finish([success(ticket.run_id, fence)])
    return ticket.run_id
