"""A herd: 60,000 jobs that are due at one instant. All run, each once, and the checker agrees.

On Streams, over a stack of its own; over Kafka a smaller one, for time's sake.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from lamplighter.domain.ids import first_run_id
from tests.e2e.stack import Stack, until

HERD = 60_000
SMALL_HERD = 10_000
BATCH = 2_000
LEAD_SECONDS = 10.0
LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 300.0
NOOP = {"type": "python", "handler": "builtin.noop"}


@pytest.fixture
def fresh_stack() -> Iterator[Stack]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        Stack(Path(folder) / "data") as running,
    ):
        yield running


def _submit(stack: Stack, at: datetime, count: int) -> None:
    job = {"name": "sheep", "schedule_type": "FUTURE", "schedule_time": at.isoformat()}
    answer = stack.ask("POST", "/jobs/batch", {"jobs": [job | {"target": NOOP}] * count})
    assert answer.status == 201, answer.text


def _seen(conn: psycopg.Connection[Any], at: datetime) -> tuple[Any, ...]:
    """How many runs there are, how many succeeded, how many were claimed once; the first start."""
    row = conn.execute(
        "SELECT count(*), count(*) FILTER (WHERE status = 10), count(*) FILTER (WHERE fence = 1),"
        " min(start_time) FROM job_runs WHERE run_id >= %s AND run_id < %s",
        [first_run_id(at), first_run_id(at + timedelta(milliseconds=1))],
    ).fetchone()
    assert row is not None
    return tuple(row)


def _have_ended(conn: psycopg.Connection[Any], at: datetime, herd: int) -> bool:
    """Asked rarely: to count the herd is work, too, and it has better things to do."""
    time.sleep(LOOK_SECONDS)
    return bool(_seen(conn, at)[1] == herd)


@pytest.mark.xdist_group("herd")
def test_a_herd_due_at_one_instant_runs_once_each(fresh_stack: Stack) -> None:
    _drive(fresh_stack, HERD)


@pytest.mark.parametrize("stack", [pytest.param("kafka", marks=pytest.mark.kafka)], indirect=True)
def test_a_smaller_herd_runs_once_each_over_kafka(stack: Stack) -> None:
    _drive(stack, SMALL_HERD)


def _drive(stack: Stack, herd: int) -> None:
    # Far enough ahead that all of it is in the queue by then, however slow the machine.
    paces = []
    for _ in range(3):
        began = datetime.now(UTC)
        _submit(stack, began + timedelta(hours=1), BATCH)
        paces.append(datetime.now(UTC) - began)
    ahead = min(paces) * 1.5 * (herd / BATCH) + timedelta(seconds=LEAD_SECONDS)
    at = datetime.now(UTC).replace(microsecond=0) + ahead
    for _ in range(herd // BATCH):
        _submit(stack, at, BATCH)

    with psycopg.connect(stack.database_url, autocommit=True) as conn:
        until(lambda: _have_ended(conn, at, herd), "all have ended", PATIENCE_SECONDS)
        runs, succeeded, claimed_once, first_start = _seen(conn, at)

    assert (runs, succeeded, claimed_once) == (herd, herd, herd)
    assert first_start is not None
    assert first_start >= at
    stack.verify()
