"""Whatever the server believes of a day, a batch of it is claimed and ended by the runs' keys.

Statistics lag behind: a day that is new was never looked at, one that is nearly over seems to have
nothing that waits or runs. Both once made a claim read the whole day.
"""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from lamplighter.domain.ids import new_job_id
from tests.adapters.postgres.conftest import NewDatabase
from tests.adapters.postgres.explaining import ExplainingLedger
from tests.adapters.postgres.making import submit_many, success, utc_now

BATCH, AT_REST = 1_000, 50_000
WORKER = "worker"
_FILL = """
    INSERT INTO job_runs (run_id, job_id, tenant, pool, status, priority, end_time)
    SELECT (lpad(to_hex((extract(epoch FROM date_trunc('day', now(), 'UTC')) * 1000)::bigint + n),
                 12, '0') || '80008000' || lpad(to_hex(n), 12, '0'))::uuid,
           gen_random_uuid(), 'filler', 'default', %(status)s, 5,
           CASE WHEN %(status)s = 10 THEN now() END
    FROM generate_series(1, %(rows)s) AS n
"""

Conn = psycopg.Connection[tuple[Any, ...]]


def _never_analyzed(conn: Conn) -> None:
    conn.execute(_FILL, {"status": 1, "rows": AT_REST})


def _analyzed_when_empty(conn: Conn) -> None:
    conn.execute("VACUUM ANALYZE jobs, job_runs")
    conn.execute(_FILL, {"status": 1, "rows": AT_REST})


def _analyzed_when_all_wait(conn: Conn) -> None:
    conn.execute(_FILL, {"status": 1, "rows": AT_REST})
    conn.execute("VACUUM ANALYZE jobs, job_runs")


def _analyzed_when_all_have_ended(conn: Conn) -> None:
    conn.execute(_FILL, {"status": 10, "rows": AT_REST})
    conn.execute("VACUUM ANALYZE jobs, job_runs")


@pytest.mark.parametrize(
    "day",
    [_never_analyzed, _analyzed_when_empty, _analyzed_when_all_wait, _analyzed_when_all_have_ended],
)
def test_a_batch_is_claimed_and_ended_by_its_keys(
    new_database: NewDatabase, day: Callable[[Conn], None]
) -> None:
    url = new_database()
    with psycopg.connect(url, autocommit=True) as conn:
        day(conn)
    ledger = ExplainingLedger(url)
    tickets = submit_many(ledger, [utc_now()] * BATCH)
    claimed = ledger.claim(WORKER, new_job_id(utc_now()), tickets).claimed
    ledger.finish([success(run.run_id, run.fence) for run in claimed])
    ledger.close()

    for query in ("claim.claim_plain", "finish.finish_plain"):
        [plan] = [plan for plan in ledger.plans if plan.query == query]
        [runs] = [node for node in plan.nodes if node.day]
        assert (runs.kind, str(runs.index)[-5:], runs.wasted) == ("Index Scan", "_pkey", 0)
