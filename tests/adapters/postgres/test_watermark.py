"""The watermark never passes a run that nobody has looked at, however late that run commits."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import UUID

import psycopg
import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.errors import LeaseLost
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.run import Accepted, ClaimAnswer, Submission
from lamplighter.ports.ledger import Cursor, Lease, Planned
from tests.adapters.postgres.conftest import NewDatabase
from tests.adapters.postgres.making import (
    HOUR,
    MINUTE,
    SECOND,
    after,
    claim_one,
    every_minute,
    fresh,
    once,
    submit_often,
    submit_once,
    success,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World, claiming
from tests.adapters.postgres.stepping import ALL, Call, Player

LONG = timedelta(hours=1)


@pytest.fixture
def lease(ledger: PostgresLedger) -> Lease:
    lease = ledger.acquire_lease("watcher", "leader", LONG)
    assert lease
    return lease


@pytest.fixture
def player(url: str) -> Iterator[Player]:
    player = Player(url)
    yield player
    player.close()


@pytest.fixture
def calm(new_database: NewDatabase) -> Iterator[World]:
    """A world of its own: watermarks are the whole database's."""
    world = World(new_database())
    yield world
    world.close()


def _stand_at(conn: psycopg.Connection[tuple[object, ...]], watermark: datetime) -> None:
    conn.execute(
        "UPDATE ledger_bounds SET watermark = %s, candidate = NULL, barrier = NULL", [watermark]
    )


def _ask_for(conn: psycopg.Connection[tuple[object, ...]], candidate: datetime) -> None:
    """As if the leader had asked, just now, for the watermark to pass up to the candidate.

    By the ledger's own statement, but for the five seconds that it keeps from the present: with a
    candidate ahead of the clock no test has to wait, and what is open now is to the candidate what
    it would be then.
    """
    query = queries("horizon")["set_candidate"]
    assert b"interval '5 s'" in query
    conn.execute(query.replace(b"interval '5 s'", b"interval '-1 h'"), {"to": candidate})


def _submitting(fire: datetime) -> Call:
    """With a fingerprint a submission is a transaction of several statements."""
    submission = Submission(once(fire), first_fire=fire, fingerprint=b"body")

    def call(ledger: PostgresLedger) -> Accepted:
        return ledger.submit([submission])

    return call


def test_the_watermark_waits_for_a_submission_that_has_not_committed(
    ledger: PostgresLedger,
    lease: Lease,
    player: Player,
    conn: psycopg.Connection[tuple[object, ...]],
) -> None:
    start, fire = utc_now(), utc_now() + MINUTE
    _stand_at(conn, start)
    player.begin(_submitting(fire))
    # BEGIN and the insert: the run is written, and only the COMMIT is missing. Nothing may be
    # committed until the barrier is set: the newest of all transactions is the hardest to see.
    player.go(2)
    _ask_for(conn, fire + MINUTE)

    held = [ledger.advance_watermark(lease, fire + MINUTE) for _ in range(5)]
    assert {cursor.watermark for cursor in held} == {start}
    assert ledger.page(first_run_id(start), fire + MINUTE, 10) == []

    [due] = player.answer().runs
    assert ledger.page(first_run_id(start), fire + MINUTE, 10) == [due]
    assert ledger.advance_watermark(lease, fire + MINUTE).watermark == fire + MINUTE
    [woken] = ledger.wake(fire + MINUTE, 10)
    assert (woken.run_id, woken.due_at) == (due.run_id, due.due_at)


def test_any_open_transaction_delays_the_watermark_and_does_not_stop_it(
    ledger: PostgresLedger, lease: Lease, url: str, conn: psycopg.Connection[tuple[object, ...]]
) -> None:
    start = utc_now()
    _stand_at(conn, start)
    with psycopg.connect(url) as other:
        other.execute("SELECT pg_current_xact_id()")
        _ask_for(conn, start + MINUTE)
        assert ledger.advance_watermark(lease, start + MINUTE).watermark == start
    assert ledger.advance_watermark(lease, start + MINUTE).watermark == start + MINUTE


def test_the_watermark_keeps_five_seconds_from_the_present(
    ledger: PostgresLedger, lease: Lease, conn: psycopg.Connection[tuple[object, ...]]
) -> None:
    start = utc_now() - HOUR
    _stand_at(conn, start)
    assert ledger.advance_watermark(lease, utc_now() - 4 * SECOND).watermark == start
    long_ago = utc_now() - 6 * SECOND
    assert ledger.advance_watermark(lease, long_ago).watermark == long_ago
    assert ledger.advance_watermark(lease, long_ago - MINUTE).watermark == long_ago


def test_an_old_leader_moves_neither_cursor_nor_watermark(
    ledger: PostgresLedger, conn: psycopg.Connection[tuple[object, ...]]
) -> None:
    old = ledger.acquire_lease("watcher", "old", LONG)
    assert old
    ledger.release_lease(old)
    assert ledger.acquire_lease("watcher", "new", LONG)
    start = utc_now() - HOUR
    _stand_at(conn, start)
    _ask_for(conn, start + MINUTE)
    before = ledger.cursor()

    with pytest.raises(LeaseLost):
        ledger.advance_watermark(old, start + MINUTE)
    with pytest.raises(LeaseLost):
        ledger.move_cursor(old, utc_now())
    assert ledger.cursor() == before


def _wake_ups(conn: psycopg.Connection[tuple[object, ...]], job_id: UUID) -> list[object]:
    query = "SELECT wake_at FROM job_runs WHERE job_id = %s AND status = 1 ORDER BY run_id"
    return [row[0] for row in conn.execute(query, [job_id])]


@pytest.mark.parametrize(("age", "is_late"), [(1, False), (3, True)])
def test_a_run_that_is_born_more_than_two_seconds_late_wakes_by_itself(
    ledger: PostgresLedger,
    lease: Lease,
    conn: psycopg.Connection[tuple[object, ...]],
    age: int,
    is_late: bool,
) -> None:
    """By whichever door it comes in: the load cursor may have passed it before it commits."""
    plain, _ = submit_once(ledger, utc_now() - age * SECOND)
    checked = once(utc_now() - age * SECOND)
    ledger.submit([Submission(checked, checked.schedule.schedule_time, fingerprint=b"body")])
    beside, _ = submit_once(ledger, utc_now() + HOUR)
    ledger.add_run(beside.tenant, beside.job_id, "now:1", utc_now() - age * SECOND)
    planned = every_minute(utc_now() - age * SECOND)
    first = planned.schedule.start_at
    assert first
    ledger.submit([Submission(planned, first - MINUTE, first)])
    step = Planned(planned, first, 1, (first,), (), first + MINUTE)
    ledger.plan(lease, [step])

    assert [at is not None for at in _wake_ups(conn, plain.job_id)] == [is_late]
    assert [at is not None for at in _wake_ups(conn, checked.job_id)] == [is_late]
    assert [at is not None for at in _wake_ups(conn, beside.job_id)] == [is_late, False]
    assert [at is not None for at in _wake_ups(conn, planned.job_id)] == [True, is_late]


def test_a_dependent_that_is_freed_after_the_cursor_has_passed_wakes_by_itself(
    ledger: PostgresLedger, conn: psycopg.Connection[tuple[object, ...]]
) -> None:
    upstream, ticket = submit_once(ledger, utc_now())
    dependent = after(upstream)
    ledger.submit([Submission(dependent)])
    fence = claim_one(ledger, ticket, "worker")
    ledger.finish([success(ticket.run_id, fence)])
    ledger.free_dependents([ticket.run_id])
    assert None not in _wake_ups(conn, dependent.job_id)


def test_a_claim_that_meets_the_watermark_neither_loses_nor_doubles_the_run(calm: World) -> None:
    lease = calm.ledger.acquire_lease("watcher", "leader", LONG)
    assert lease

    def set_up(world: World) -> Scene:
        now = utc_now()
        _, taken = submit_once(world.ledger, now, tenant=fresh("t"))
        left, _ = submit_often(world.ledger, now + 30 * SECOND, tenant=fresh("t"))
        _stand_at(world.conn, now - SECOND)
        _ask_for(world.conn, now + MINUTE)

        def advance(ledger: PostgresLedger) -> Cursor:
            return ledger.advance_watermark(lease, now + MINUTE)

        def check(cursor: Cursor, claim: ClaimAnswer) -> None:
            # The claim, while it is open, may hold the watermark back; the next call goes on.
            assert world.ledger.advance_watermark(lease, now + MINUTE).watermark == now + MINUTE
            assert [run.run_id for run in claim.claimed] == [taken.run_id]
            assert None not in _wake_ups(world.conn, left.job_id)

        return Scene([advance, claiming(fresh("w"), taken)], check)

    calm.race(set_up)
    calm.trial(set_up, [(0, 5), (1, ALL), (0, ALL)])
