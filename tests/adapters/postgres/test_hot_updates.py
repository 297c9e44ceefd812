"""Claim and completion rewrite a row in its own page and touch no index (decision 0001)."""

import re
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import new_job_id
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Claimed, Ticket
from tests.adapters.postgres.making import failure, submit_many, success, utc_now

RUNS, BATCH = 5_000, 1_000
WORKER = "5f3c1b9e-0d7a-4c55-9a43-8f6b1c2d7e90"  # as long as real ones: a claim makes a row longer
# Keys of their own: each run takes a slot, and none waits.
JUDGED = {"max_concurrency": 1}
# As recurring jobs are unless they say otherwise: by the short way of alone.py.
ALONE = {"overlap": Overlap.FORBID}
PLAIN: dict[str, Any] = {}

_UPDATES = """
    SELECT coalesce(sum(n_tup_upd), 0)::int, coalesce(sum(n_tup_hot_upd), 0)::int
    FROM pg_stat_user_tables WHERE relname LIKE 'job\\_runs\\_%'
"""


def _updates(url: str) -> tuple[int, int]:
    """All updates of the ledger's rows, and how many of them were HOT.

    Backends report what they did when they end, at the latest: the ledger must be closed by now.
    """
    with psycopg.connect(url) as conn:
        [(updates, hot)] = conn.execute(_UPDATES).fetchall()
    return updates, hot


def _submit_and_claim(ledger: PostgresLedger, runs: int, fields: dict[str, Any]) -> list[Claimed]:
    claimed: list[Claimed] = []
    for size in [BATCH] * (runs // BATCH) or [runs]:
        # As early as a claim may be: a run that is written down late gets a wake-up call, and
        # clearing that is no HOT update.
        soon = utc_now() + timedelta(seconds=0.9)
        tickets: list[Ticket] = submit_many(ledger, [soon] * size, **fields)
        claimed += ledger.claim(WORKER, new_job_id(utc_now()), tickets).claimed
    assert len(claimed) == runs
    return claimed


@pytest.mark.parametrize("fields", [PLAIN, JUDGED, ALONE], ids=["plain", "judged", "alone"])
def test_every_claim_and_every_completion_is_hot(url: str, fields: dict[str, Any]) -> None:
    ledger = PostgresLedger(url)
    claimed = _submit_and_claim(ledger, RUNS, fields)
    for start in range(0, RUNS, BATCH):
        some = claimed[start : start + BATCH]
        ledger.finish([success(run.run_id, run.fence) for run in some])
    ledger.close()

    assert _updates(url) == (2 * RUNS, 2 * RUNS)


def test_a_retry_is_the_exception_because_it_has_to_be_found_again(url: str) -> None:
    ledger = PostgresLedger(url)
    claimed = _submit_and_claim(ledger, 100, PLAIN)
    ledger.finish([failure(run.run_id, run.fence) for run in claimed])
    ledger.close()

    assert _updates(url) == (200, 100)  # the claims were HOT, the wake-up calls went into an index


def test_no_index_of_the_ledger_names_what_a_claim_or_a_completion_changes(
    conn: psycopg.Connection[tuple[Any, ...]],
) -> None:
    """In its key, in an expression, or in its predicate: PostgreSQL asks for all three."""
    query = """
        SELECT pg_get_indexdef(i.indexrelid) FROM pg_index AS i
        JOIN pg_class AS c ON c.oid = i.indrelid WHERE c.relname LIKE 'job\\_runs%'
    """
    definitions = [row[0] for row in conn.execute(query)]
    changed = re.compile(
        r"\b(status|fence|executor_id|modified_time|start_time|end_time|slotted)\b"
    )

    assert len(definitions) >= 3
    assert [each for each in definitions if changed.search(each)] == []
