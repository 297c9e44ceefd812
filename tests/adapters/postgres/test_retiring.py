"""Days are retired whole, never with an open run, whatever interrupts or races it."""

from datetime import datetime
from uuid import UUID

import psycopg
import pytest

from lamplighter.adapters.postgres.database import Bounds
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Due, Submission, Ticket
from lamplighter.domain.states import RunState
from tests.adapters.postgres.days import (
    OLD,
    Conn,
    attached,
    day_table,
    day_tables,
    finished,
    history,
)
from tests.adapters.postgres.making import (
    DAY,
    HOUR,
    after,
    claim_one,
    fresh,
    submit_once,
    success,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World


def test_retention_retires_whole_days_but_none_with_an_open_run(
    ledger: PostgresLedger, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    finished(ledger, long_ago)
    history(ledger, long_ago + DAY)
    finished(ledger, long_ago + 3 * DAY)

    gone = ledger.drop_partitions(utc_now() - 30 * DAY)

    assert gone == [day_table(long_ago), day_table(long_ago + 3 * DAY)]
    assert day_table(long_ago + DAY) in attached(conn)
    assert day_tables(conn) == attached(conn)
    assert ledger.drop_partitions(utc_now() - 30 * DAY) == []


def test_finished_one_off_jobs_leave_with_their_history(ledger: PostgresLedger, conn: Conn) -> None:
    yesterday = utc_now() - DAY
    gone, kept = (submit_once(ledger, yesterday) for _ in range(2))
    for _, ticket in (gone, kept):
        _succeed(ledger, ticket)
    ledger.add_run(kept[0].tenant, kept[0].job_id, "now:1", utc_now())

    assert ledger.drop_partitions(utc_now()) == [day_table(yesterday)]

    assert _jobs(conn) == {kept[0].job_id}
    assert conn.execute("SELECT FROM run_attempts").fetchall() == []


def test_a_graph_leaves_whole_and_not_while_somebody_below_stays(
    ledger: PostgresLedger, conn: Conn
) -> None:
    yesterday = utc_now() - DAY
    upstreams = [submit_once(ledger, yesterday) for _ in range(2)]
    for _, ticket in upstreams:
        _succeed(ledger, ticket)
    (gone, _), (kept, _) = upstreams
    leaving, staying = after(gone), after(kept)
    for due in ledger.submit([Submission(leaving), Submission(staying)]).runs:
        _succeed(ledger, Ticket(due.run_id, due.fence))
    ledger.add_run(staying.tenant, staying.job_id, "now:1", utc_now())

    ledger.drop_partitions(utc_now())

    assert _jobs(conn) == {kept.job_id, staying.job_id}


def _succeed(ledger: PostgresLedger, ticket: Ticket) -> None:
    fence = claim_one(ledger, ticket, "worker")
    ledger.finish([success(ticket.run_id, fence)])


def _jobs(conn: Conn) -> set[UUID]:
    return {row[0] for row in conn.execute("SELECT job_id FROM jobs")}


@pytest.fixture
def hasty(url: str) -> PostgresLedger:
    """Gives up after a fifth of a second, as one does whose Lambda ends."""
    return PostgresLedger(url, bounds=Bounds(statement=200, lock=200))


def _interrupt_retiring(hasty: PostgresLedger, url: str, day: datetime) -> None:
    """Somebody reads the day while it is to go: the detaching waits for them, and is cut off."""
    with psycopg.connect(url) as reader:
        reader.execute(f"SELECT FROM {day_table(day)}".encode())
        with pytest.raises(LedgerUnavailable):
            hasty.drop_partitions(utc_now() - 30 * DAY)
    hasty.close()


def test_a_retiring_that_was_cut_off_is_finished_by_the_next(
    ledger: PostgresLedger, hasty: PostgresLedger, url: str, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    finished(ledger, long_ago)
    finished(ledger, long_ago + DAY)
    _interrupt_retiring(hasty, url, long_ago)
    pending = "SELECT FROM pg_inherits WHERE inhdetachpending"
    assert len(conn.execute(pending).fetchall()) == 1

    gone = ledger.drop_partitions(utc_now() - 30 * DAY)

    assert gone == [day_table(long_ago), day_table(long_ago + DAY)]
    assert day_tables(conn) == attached(conn)


def test_a_day_whose_retiring_was_cut_off_can_be_written_to_again(
    ledger: PostgresLedger, hasty: PostgresLedger, url: str, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    before = finished(ledger, long_ago)
    _interrupt_retiring(hasty, url, long_ago)

    history(ledger, long_ago)

    rows = conn.execute("SELECT status FROM job_runs WHERE run_id = %s", [before]).fetchall()
    assert rows == [(RunState.SUCCESS,)]


def test_a_day_that_was_left_beside_the_ledger_is_retired_by_the_next(
    ledger: PostgresLedger, conn: Conn
) -> None:
    """The process ended between detaching and dropping, and its open run must come back."""
    long_ago = utc_now() - OLD
    finished(ledger, long_ago)
    open_run = history(ledger, long_ago + DAY)
    for day in (long_ago, long_ago + DAY):
        conn.execute(
            f"ALTER TABLE job_runs DETACH PARTITION {day_table(day)} CONCURRENTLY".encode()
        )

    assert ledger.drop_partitions(utc_now() - 30 * DAY) == [day_table(long_ago)]

    query = "SELECT status FROM job_runs WHERE run_id = %s"
    assert conn.execute(query, [open_run.run_id]).fetchall() == [(RunState.SCHEDULED,)]


def test_a_run_that_slips_into_a_day_while_it_is_retired_is_kept(world: World) -> None:
    def set_up(world: World) -> Scene:
        long_ago = utc_now() - OLD
        finished(world.ledger, long_ago)
        job, _ = submit_once(world.ledger, utc_now() + HOUR, tenant=fresh("t"))
        origin = fresh("backfill:")

        def retire(ledger: PostgresLedger) -> list[str]:
            return ledger.drop_partitions(utc_now() - 30 * DAY)

        def backfill(ledger: PostgresLedger) -> list[Due]:
            return ledger.add_run(job.tenant, job.job_id, origin, long_ago)

        def check(gone: list[str], written: list[Due]) -> None:
            # The answer may be empty, where the day was half gone when it was looked up; the run
            # is there all the same, and wakes by itself.
            [run] = [run for run in world.ledger.runs(job.tenant, job.job_id) if run.wake_at]
            assert (run.state, run.origin) == (RunState.SCHEDULED, origin)
            assert {due.run_id for due in written} <= {run.run_id}
            assert day_tables(world.conn) == attached(world.conn)
            fence = claim_one(world.ledger, Ticket(run.run_id, run.fence), fresh("w"))
            world.ledger.finish([success(run.run_id, fence)])

        return Scene([retire, backfill], check)

    world.race(set_up)
