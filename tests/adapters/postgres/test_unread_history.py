"""A job that fires often is changed, followed and planned without a look at what has ended."""

from collections.abc import Callable

import msgspec
import psycopg
import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.job import Job
from lamplighter.domain.run import Submission
from lamplighter.ports.ledger import Planned
from tests.adapters.postgres.conftest import NewDatabase
from tests.adapters.postgres.days import Conn
from tests.adapters.postgres.explaining import ExplainingLedger, Node
from tests.adapters.postgres.making import DAY, HOUR, MINUTE, after, every_minute, utc_now

HISTORY = 5_000  # runs a day of one job, all ended
_FILL = """
    INSERT INTO job_runs (run_id, job_id, tenant, pool, status, priority, end_time)
    SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '80008000'
            || lpad(to_hex(n), 12, '0'))::uuid, %(job_id)s, 'default', 'default', 10, 5, at
    FROM generate_series(1, %(runs)s) AS n
    CROSS JOIN LATERAL (SELECT %(day)s + n * interval '1 s' AS at) AS a
"""


def _fill(conn: Conn, job: Job) -> None:
    for days in (1, 2, 3):
        given = {"job_id": job.job_id, "runs": HISTORY, "day": utc_now() - days * DAY}
        conn.execute(_FILL, given)
    conn.execute("VACUUM ANALYZE job_runs")


def _edit(ledger: PostgresLedger, job: Job) -> None:
    edited = msgspec.structs.replace(job, max_concurrency=2)
    first = utc_now() + HOUR
    ledger.reschedule(edited, expected_version=1, first_fire=first, next_fire=first + MINUTE)


def _cancel(ledger: PostgresLedger, job: Job) -> None:
    ledger.cancel_job(job.tenant, job.job_id)


def _follow(ledger: PostgresLedger, job: Job) -> None:
    ledger.submit([Submission(after(job))])


def _plan_and_edit_with_a_dependent(ledger: PostgresLedger, job: Job) -> None:
    _follow(ledger, job)
    lease, first = ledger.acquire_lease("plan", "leader", HOUR), job.schedule.start_at
    assert lease
    assert first
    fire = first + MINUTE
    planned = Planned(job, fire, job.version, (fire,), (), fire + MINUTE)
    assert len(ledger.plan(lease, [planned])) == 1
    _edit(ledger, job)


@pytest.mark.parametrize("change", [_edit, _cancel, _follow, _plan_and_edit_with_a_dependent])
def test_a_change_reads_nothing_of_what_has_ended_long_ago(
    new_database: NewDatabase, change: Callable[[PostgresLedger, Job], None]
) -> None:
    url = new_database()
    ledger = ExplainingLedger(url)
    ledger.ensure_partitions(utc_now() - 3 * DAY, utc_now() + DAY)
    first = utc_now() + HOUR
    job = every_minute(first)
    ledger.submit([Submission(job, first_fire=first, next_fire=first + MINUTE)])
    with psycopg.connect(url, autocommit=True) as conn:
        _fill(conn, job)
    ledger.plans.clear()

    change(ledger, job)
    ledger.close()

    assert any(plan.query == "change.open_runs" for plan in ledger.plans)
    assert {plan.query for plan in ledger.plans if any(map(_reads_history, plan.nodes))} == set()


def _reads_history(node: Node) -> bool:
    """Not the few runs of today."""
    return node.day is not None and node.wasted > HISTORY / 100
