"""The ledger's days are made ahead, by anybody, and each run lies in the one of its fire."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import epoch_ms, instant_of, run_id
from lamplighter.domain.run import Recorded, Refusal, Submission, Ticket
from tests.adapters.postgres.days import OLD, Conn, attached, day_table, history
from tests.adapters.postgres.making import (
    DAY,
    claim_one,
    once,
    submit_many,
    success,
    utc_now,
)


def test_days_are_made_ahead_and_making_them_again_changes_nothing(
    ledger: PostgresLedger, conn: Conn
) -> None:
    now = utc_now()
    for _ in range(2):
        ledger.ensure_partitions(now, now + 5 * DAY)
        assert attached(conn) == [day_table(now + n * DAY) for n in range(-1, 6)]
    [(start, end)] = conn.execute("SELECT ready_from, ready_to FROM ledger_bounds").fetchall()
    assert (day_table(start), day_table(end)) == (day_table(now - DAY), day_table(now + 6 * DAY))


def test_after_days_in_which_nobody_made_any_there_is_no_hole(
    ledger: PostgresLedger, conn: Conn
) -> None:
    """Or no submission would ever go straight into the ledger again."""
    now = utc_now()

    ledger.ensure_partitions(now + 20 * DAY, now + 22 * DAY)

    assert attached(conn) == [day_table(now + n * DAY) for n in range(-1, 23)]
    [(end,)] = conn.execute("SELECT ready_to FROM ledger_bounds").fetchall()
    assert day_table(end) == day_table(now + 23 * DAY)


def test_ten_may_make_the_same_days_at_once(ledger: PostgresLedger, conn: Conn) -> None:
    now = utc_now()
    with ThreadPoolExecutor(10) as pool:
        for _ in range(10):
            pool.submit(ledger.ensure_partitions, now, now + 10 * DAY)
    assert attached(conn) == [day_table(now + n * DAY) for n in range(-1, 11)]


def test_a_submission_goes_on_while_a_day_is_being_made(
    ledger: PostgresLedger, url: str, conn: Conn
) -> None:
    """Attaching, not creating in place: the ledger stays open to readers and writers."""
    with psycopg.connect(url) as other:
        name = day_table(utc_now() + 9 * DAY)
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
        assert table == day_table(fire)

    check()


def test_a_day_begins_and_ends_with_its_first_and_last_millisecond(
    ledger: PostgresLedger, conn: Conn
) -> None:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    fires = [midnight - timedelta(milliseconds=1), midnight, midnight + timedelta(milliseconds=1)]
    for fire in fires:
        ledger.submit([Submission(once(fire), first_fire=fire)])
    rows = conn.execute("SELECT tableoid::regclass::text FROM job_runs ORDER BY run_id").fetchall()
    assert [row[0] for row in rows] == [day_table(fire) for fire in fires]


def test_a_fire_long_past_gets_its_day_on_demand(ledger: PostgresLedger, conn: Conn) -> None:
    long_ago = utc_now() - OLD
    history(ledger, long_ago)
    assert attached(conn)[0] == day_table(long_ago)


def test_a_batch_of_two_days_is_claimed_and_ended_whole(ledger: PostgresLedger) -> None:
    midnight = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    tickets = submit_many(ledger, [midnight - timedelta(milliseconds=1), midnight])

    claimed = ledger.claim("worker", uuid4(), tickets).claimed

    assert {run.run_id for run in claimed} == {ticket.run_id for ticket in tickets}
    ended = ledger.finish([success(run.run_id, run.fence) for run in claimed])
    assert [each.recorded for each in ended] == [Recorded.ACCEPTED] * 2


def test_a_run_of_a_day_that_there_is_not_is_gone(ledger: PostgresLedger) -> None:
    nowhere = Ticket(run_id(uuid4(), utc_now() - OLD, "default"), 0)

    assert ledger.claim("worker", uuid4(), [nowhere]).refused == {nowhere.run_id: Refusal.GONE}
    for run in (nowhere.run_id, UUID(int=(1 << 128) - 1)):
        [ended] = ledger.finish([success(run, 1)])
        assert ended.recorded is Recorded.STALE
