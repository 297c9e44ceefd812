"""Tables that only grow are cut after the retention, page by page, and never below it."""

import pytest

from lamplighter.adapters.postgres import forgetting
from lamplighter.adapters.postgres.ledger import PostgresLedger
from tests.adapters.postgres.days import Conn
from tests.adapters.postgres.making import DAY, utc_now

# Ten rows of each, a day apart; today's is the first.
_FILL = (
    (
        "INSERT INTO audit_log (tenant, actor, action, subject, at) "
        "SELECT 't', 'a', 'b', 'c', now() - n * interval '1 day' FROM generate_series(0, 9) AS n"
    ),
    (
        "INSERT INTO stats_minute SELECT now() - n * interval '1 day', 't', 'p', 1, 10, 1, 1, 1, 1 "
        "FROM generate_series(0, 9) AS n"
    ),
    (
        "INSERT INTO job_versions SELECT gen_random_uuid(), 1, 't', '-infinity', "
        "now() - n * interval '10 days', '{}' FROM generate_series(0, 9) AS n"
    ),
)


@pytest.mark.parametrize(
    ("table", "left"),
    # Versions: those of the last month before the oldest day of the ledger stay.
    [("audit_log", 3), ("stats_minute", 3), ("job_versions", 4)],
)
def test_what_is_older_than_the_retention_leaves(
    ledger: PostgresLedger, conn: Conn, monkeypatch: pytest.MonkeyPatch, table: str, left: int
) -> None:
    monkeypatch.setattr(forgetting, "PAGE", 2)
    for statement in _FILL:
        conn.execute(statement.encode())

    ledger.forget_before(utc_now() - 2.5 * DAY)

    [(rows,)] = conn.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()
    assert rows == left
