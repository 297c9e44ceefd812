"""The ledger's days: made ahead, retired whole, never with an open run, whatever interrupts it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.adapters.postgres.database import Bounds
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ids import epoch_ms, instant_of, run_id
from lamplighter.domain.run import Due, Submission, Ticket
from lamplighter.domain.states import RunState
from tests.adapters.postgres.making import (
    DAY,
    HOUR,
    after,
    claim_one,
    fresh,
    once,
    submit_many,
    submit_once,
    success,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World

Conn = psycopg.Connection[tuple[Any, ...]]
OLD = timedelta(days=40)


def _name(instant: datetime) -> str:
    return f"job_runs_{instant.astimezone(UTC):%Y%m%d}"


def _days(conn: Conn) -> list[str]:
    query = """
        SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'job_runs'::regclass ORDER BY 1
    """
    return [row[0] for row in conn.execute(query)]


def _tables(conn: Conn) -> list[str]:
    query = "SELECT relname FROM pg_class WHERE relname LIKE 'job\\_runs\\_2%' AND relkind = 'r'"
    return sorted(row[0] for row in conn.execute(query))


def _history(ledger: PostgresLedger, fire: datetime) -> Ticket:
    """A job that fired once, long ago, and whose run is still open."""
    job, _ = submit_once(ledger, utc_now() + HOUR, tenant=fresh("t"))
    [due] = ledger.add_run(job.tenant, job.job_id, "backfill:1", fire)
    return Ticket(due.run_id, due.fence)


def _finished(ledger: PostgresLedger, fire: datetime) -> UUID:
    ticket = _history(ledger, fire)
    fence = claim_one(ledger, ticket, "worker")
    ledger.finish([success(ticket.run_id, fence)])
    return ticket.run_id


def test_days_are_made_ahead_and_making_them_again_changes_nothing(
    ledger: PostgresLedger, conn: Conn
) -> None:
    now = utc_now()
    for _ in range(2):
        ledger.ensure_partitions(now, now + 5 * DAY)
        assert _days(conn) == [_name(now + n * DAY) for n in range(-1, 6)]
    [(start, end)] = conn.execute("SELECT ready_from, ready_to FROM ledger_bounds").fetchall()
    assert (_name(start), _name(end)) == (_name(now - DAY), _name(now + 6 * DAY))


def test_ten_may_make_the_same_days_at_once(ledger: PostgresLedger, conn: Conn) -> None:
    now = utc_now()
    with ThreadPoolExecutor(10) as pool:
        for _ in range(10):
            pool.submit(ledger.ensure_partitions, now, now + 10 * DAY)
    assert _days(conn) == [_name(now + n * DAY) for n in range(-1, 11)]


def test_a_submission_goes_on_while_a_day_is_being_made(
    ledger: PostgresLedger, url: str, conn: Conn
) -> None:
    """Attaching, not creating in place: the ledger stays open to readers and writers."""
    with psycopg.connect(url) as other:
        name = _name(utc_now() + 9 * DAY)
        other.execute(f"CREATE TABLE {name} (LIKE job_runs INCLUDING ALL)".encode())
        low, high = run_id_bounds(utc_now() + 9 * DAY)
        attach = (
            f"ALTER TABLE job_runs ATTACH PARTITION {name} FOR VALUES FROM ('{low}') TO ('{high}')"
        )
        other.execute(attach.encode())  # not committed
        [ticket] = submit_many(ledger, [utc_now()])
        assert claim_one(ledger, ticket, "worker") == 1


def run_id_bounds(instant: datetime) -> tuple[UUID, UUID]:
    start = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return UUID(int=epoch_ms(start) << 80), UUID(int=epoch_ms(start + DAY) << 80)


@pytest.mark.parametrize("days", [1])
def test_every_run_lies_in_the_partition_of_its_fires_day(
    ledger: PostgresLedger, conn: Conn, days: int
) -> None:
    now = utc_now()
    first, last = epoch_ms(now - days * DAY), epoch_ms(now + days * DAY)
    insert = """
        INSERT INTO job_runs (run_id, job_id, tenant, pool, priority)
        VALUES (%s, %s, 't', 'default', 5) RETURNING tableoid::regclass::text
    """

    @settings(
        max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(st.integers(first, last).map(instant_of), st.uuids(), st.text(max_size=9))
    def check(fire: datetime, job: UUID, pool: str) -> None:
        [(table,)] = conn.execute(insert, [run_id(job, fire, pool, str(uuid4())), job]).fetchall()
        assert table == _name(fire)

    check()


def test_a_day_begins_and_ends_with_its_first_and_last_millisecond(
    ledger: PostgresLedger, conn: Conn
) -> None:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    fires = [midnight - timedelta(milliseconds=1), midnight, midnight + timedelta(milliseconds=1)]
    for fire in fires:
        ledger.submit([Submission(once(fire), first_fire=fire)])
    rows = conn.execute("SELECT tableoid::regclass::text FROM job_runs ORDER BY run_id").fetchall()
    assert [row[0] for row in rows] == [_name(fire) for fire in fires]


def test_a_fire_long_past_gets_its_day_on_demand(ledger: PostgresLedger, conn: Conn) -> None:
    long_ago = utc_now() - OLD
    _history(ledger, long_ago)
    assert _days(conn)[0] == _name(long_ago)


def test_retention_retires_whole_days_but_none_with_an_open_run(
    ledger: PostgresLedger, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    _finished(ledger, long_ago)
    _history(ledger, long_ago + DAY)
    _finished(ledger, long_ago + 3 * DAY)

    gone = ledger.drop_partitions(utc_now() - 30 * DAY)

    assert gone == [_name(long_ago), _name(long_ago + 3 * DAY)]
    assert _name(long_ago + DAY) in _days(conn)
    assert _tables(conn) == _days(conn)
    assert ledger.drop_partitions(utc_now() - 30 * DAY) == []


def test_finished_one_off_jobs_leave_with_their_history(ledger: PostgresLedger, conn: Conn) -> None:
    yesterday = utc_now() - DAY
    gone, kept = (submit_once(ledger, yesterday) for _ in range(2))
    for _, ticket in (gone, kept):
        _succeed(ledger, ticket)
    ledger.add_run(kept[0].tenant, kept[0].job_id, "now:1", utc_now())

    assert ledger.drop_partitions(utc_now()) == [_name(yesterday)]

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
        reader.execute(f"SELECT FROM {_name(day)}".encode())
        with pytest.raises(LedgerUnavailable):
            hasty.drop_partitions(utc_now() - 30 * DAY)
    hasty.close()


def test_a_retiring_that_was_cut_off_is_finished_by_the_next(
    ledger: PostgresLedger, hasty: PostgresLedger, url: str, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    _finished(ledger, long_ago)
    _finished(ledger, long_ago + DAY)
    _interrupt_retiring(hasty, url, long_ago)
    pending = "SELECT FROM pg_inherits WHERE inhdetachpending"
    assert len(conn.execute(pending).fetchall()) == 1

    gone = ledger.drop_partitions(utc_now() - 30 * DAY)

    assert gone == [_name(long_ago), _name(long_ago + DAY)]
    assert _tables(conn) == _days(conn)


def test_a_day_whose_retiring_was_cut_off_can_be_written_to_again(
    ledger: PostgresLedger, hasty: PostgresLedger, url: str, conn: Conn
) -> None:
    long_ago = utc_now() - OLD
    before = _finished(ledger, long_ago)
    _interrupt_retiring(hasty, url, long_ago)

    _history(ledger, long_ago)

    rows = conn.execute("SELECT status FROM job_runs WHERE run_id = %s", [before]).fetchall()
    assert rows == [(RunState.SUCCESS,)]


def test_a_day_that_was_left_beside_the_ledger_is_retired_by_the_next(
    ledger: PostgresLedger, conn: Conn
) -> None:
    """The process ended between detaching and dropping, and its open run must come back."""
    long_ago = utc_now() - OLD
    _finished(ledger, long_ago)
    open_run = _history(ledger, long_ago + DAY)
    for day in (long_ago, long_ago + DAY):
        conn.execute(f"ALTER TABLE job_runs DETACH PARTITION {_name(day)} CONCURRENTLY".encode())

    assert ledger.drop_partitions(utc_now() - 30 * DAY) == [_name(long_ago)]

    query = "SELECT status FROM job_runs WHERE run_id = %s"
    assert conn.execute(query, [open_run.run_id]).fetchall() == [(RunState.SCHEDULED,)]


def test_a_run_that_slips_into_a_day_while_it_is_retired_is_kept(world: World) -> None:
    def set_up(world: World) -> Scene:
        long_ago = utc_now() - OLD
        _finished(world.ledger, long_ago)
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
            assert _tables(world.conn) == _days(world.conn)
            fence = claim_one(world.ledger, Ticket(run.run_id, run.fence), fresh("w"))
            world.ledger.finish([success(run.run_id, fence)])

        return Scene([retire, backfill], check)

    world.race(set_up)
