"""Bounded transactions, bounded retries, and one error for whatever goes wrong on the way."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import Cursor, errors

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.database import THRIFTY, Bounds, Database, Moved, Row
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.domain.errors import LedgerUnavailable
from tests.conftest import FAST
from tests.infra.local.waiting import wait_until

Conn = psycopg.Connection[tuple[Any, ...]]
TRIES = 5


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.close()


@pytest.fixture
def hasty(url: str) -> Iterator[Database]:
    bounds = Bounds(statement=500, lock=500, idle_in_transaction=500)
    database = Database(url, bounds=bounds)
    yield database
    database.close()


def test_every_connection_is_bounded_and_in_utc(database: Database) -> None:
    query = b"SELECT current_setting(unnest(%(names)s::text[]))"
    names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "TimeZone"]
    rows = database.statement(query, {"names": names})
    assert [row[0] for row in rows] == ["10s", "3s", "10s", "UTC"]


def test_a_statement_that_takes_too_long_is_unavailable(hasty: Database) -> None:
    with pytest.raises(LedgerUnavailable, match="statement timeout"):
        hasty.statement(b"SELECT pg_sleep(30)", {})
    with pytest.raises(LedgerUnavailable, match="statement timeout"):
        hasty.run(lambda cursor: cursor.execute("SELECT pg_sleep(30)"))


def test_a_server_that_never_answers_is_unavailable(database: Database) -> None:
    """It may stand still, or the network swallow everything: then it ends no statement itself."""

    def wait(cursor: Cursor[Row]) -> None:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_sleep(30)")

    began = time.monotonic()
    with pytest.raises(LedgerUnavailable):
        database.run(wait, patience=0.3)
    assert time.monotonic() - began < 15

    # Its answer, should one come, is nobody's: what is asked next has a connection of its own.
    assert database.statement(b"SELECT 1", {}) == [(1,)]


def test_a_lock_that_nobody_gives_up_is_unavailable(hasty: Database, url: str) -> None:
    lock = b"SELECT FROM ledger_bounds FOR UPDATE"
    slow = Bounds(statement=10_000, lock=100)
    database = Database(url, bounds=slow)
    with psycopg.connect(url) as holder:
        holder.execute(lock)
        with pytest.raises(LedgerUnavailable, match="lock timeout"):
            database.statement(lock, {})
    database.close()


def test_a_transaction_that_is_left_alone_is_ended_and_unavailable(
    hasty: Database, conn: Conn
) -> None:
    def work(cursor: Cursor[Row]) -> None:
        backend = cursor.connection.info.backend_pid
        cursor.execute("SELECT")
        query = "SELECT FROM pg_stat_activity WHERE pid = %s"
        wait_until(lambda: not conn.execute(query, [backend]).fetchall(), "the server ends it")
        cursor.execute("SELECT")

    with pytest.raises(LedgerUnavailable):
        hasty.run(work)
    assert hasty.statement(b"SELECT 1", {}) == [(1,)]


def test_a_server_that_only_reads_is_unavailable(database: Database) -> None:
    """What a client of Aurora meets whose writer has just become a reader."""

    def work(cursor: Cursor[Row]) -> None:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute("DELETE FROM leases")

    with pytest.raises(LedgerUnavailable, match="read-only"):
        database.run(work)


@pytest.mark.parametrize(
    "error", [errors.DeadlockDetected, errors.SerializationFailure, Moved], ids=lambda e: e.__name__
)
def test_a_transaction_that_met_another_starts_over_a_few_times(
    database: Database, error: type[Exception]
) -> None:
    tries: list[int] = []

    def gives_way(times: int) -> Callable[[Cursor[Row]], int]:
        def work(cursor: Cursor[Row]) -> int:
            tries.append(len(tries))
            # Fails by itself if an earlier try has left anything behind.
            insert = "INSERT INTO leases VALUES (%s, 'me', 1, now())"
            cursor.execute(insert, [f"after {times}"])
            if len(tries) <= times:
                raise error("met another")
            return len(tries)

        return work

    assert database.run(gives_way(TRIES - 1)) == TRIES
    tries.clear()
    with pytest.raises(LedgerUnavailable, match=f"gave way {TRIES} times"):
        database.run(gives_way(TRIES))
    assert len(tries) == TRIES


def test_of_two_transactions_in_a_deadlock_both_get_their_way(
    database: Database, conn: Conn
) -> None:
    conn.execute("INSERT INTO leases SELECT n::text, 'me', 1, now() FROM generate_series(1, 2) n")
    both_hold_one = threading.Barrier(2)
    first_try = threading.local()

    def lock(order: tuple[str, str]) -> Callable[[Cursor[Row]], str]:
        def work(cursor: Cursor[Row]) -> str:
            for name in order:
                cursor.execute("SELECT FROM leases WHERE name = %s FOR UPDATE", [name])
                if not getattr(first_try, "is_over", False):
                    first_try.is_over = True
                    both_hold_one.wait(10)
            return order[0]

        return work

    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda order: database.run(lock(order)), [("1", "2"), ("2", "1")])
    assert sorted(answers) == ["1", "2"]


def test_what_a_caller_did_wrong_is_not_called_unavailable(database: Database) -> None:
    with pytest.raises(errors.UndefinedTable):
        database.statement(b"SELECT FROM nowhere", {})
    assert database.statement(b"SELECT 1", {}) == [(1,)]


def _warm(database: Database, connections: int) -> None:
    """So many connections in the pool, all of them idle."""
    together = threading.Barrier(connections)

    def work(cursor: Cursor[Row]) -> None:
        cursor.execute("SELECT")
        together.wait(10)

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(database.run, [work] * connections))


def _failures(database: Database, calls: int) -> int:
    failed = 0
    for _ in range(calls):
        try:
            assert database.statement(b"SELECT 1", {}) == [(1,)]
        except LedgerUnavailable:
            failed += 1
    return failed


def test_lost_connections_cost_one_error_and_are_replaced(database: Database, conn: Conn) -> None:
    _warm(database, 6)
    conn.execute("""
        SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
    """)
    assert _failures(database, 20) <= 1


def test_more_callers_than_connections_wait_for_one_and_not_for_ever(url: str) -> None:
    database = Database(url, max_size=1)
    assert database._pool.timeout == 5
    database._pool.timeout = 0.2
    has_one, may_end = threading.Event(), threading.Event()

    def hold(cursor: Cursor[Row]) -> None:
        cursor.execute("SELECT")
        has_one.set()
        may_end.wait(20)

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(database.run, hold)
        assert has_one.wait(10)
        with pytest.raises(LedgerUnavailable, match="couldn't get a connection"):
            database.statement(b"SELECT 1", {})
        may_end.set()
        holding.result(20)
    database.close()


def test_a_ledger_that_was_closed_is_unavailable(ledger: PostgresLedger) -> None:
    ledger.now()
    ledger.close()
    with pytest.raises(LedgerUnavailable):
        ledger.now()


def test_a_server_that_goes_away_and_comes_back(folder: Path) -> None:
    """Away: an error within seconds, every time. Back: one error at most, then it works."""
    with Postgres(folder, settings=FAST) as first:
        url, port = first.ensure_database("ledger"), first.port
        migrate(url, days_ahead=0)
        database = Database(url)
        _warm(database, 4)
    for _ in range(2):
        started = time.monotonic()
        with pytest.raises(LedgerUnavailable):
            database.statement(b"SELECT 1", {})
        assert time.monotonic() - started < 20
    with Postgres(folder, settings=FAST, port=port):
        assert _failures(database, 10) <= 1
        database.close()


def test_a_server_that_restarts_between_two_calls_costs_one_error(folder: Path) -> None:
    with Postgres(folder, settings=FAST) as first:
        url, port = first.ensure_database("ledger"), first.port
        database = Database(url)
        _warm(database, 4)
    with Postgres(folder, settings=FAST, port=port):
        assert _failures(database, 10) <= 1
        database.close()


def test_whoever_lets_go_leaves_no_connection_and_can_come_back(url: str, conn: Conn) -> None:
    database = Database(url)
    pid = backend(database)
    assert is_there(conn, pid)

    assert database.let_go()

    wait_until(lambda: not is_there(conn, pid), "the session has ended")
    assert not database.let_go(), "nobody has asked for one since"
    assert backend(database) != pid
    database.close()


def test_a_connection_in_use_is_let_go_when_it_is_given_back(url: str, conn: Conn) -> None:
    database = Database(url)

    def work(cursor: Cursor[Row]) -> int:
        database.let_go()
        return int(cursor.execute("SELECT pg_backend_pid()").fetchall()[0][0])

    pid = database.run(work)

    wait_until(lambda: not is_there(conn, pid), "the session has ended")
    database.close()


def test_the_server_ends_the_sessions_of_a_thrifty_process_that_is_frozen(
    url: str, conn: Conn
) -> None:
    habits = msgspec.structs.replace(THRIFTY, idle_session_seconds=1)
    database = Database(url, habits=habits)

    pid = backend(database)

    wait_until(lambda: not is_there(conn, pid), "the session has ended")
    database.close()


def test_who_asks_while_another_lets_go_gets_an_answer(url: str) -> None:
    database = Database(url)
    over = threading.Event()

    def let_go() -> None:
        while not over.wait(0.01):
            database.let_go()

    thread = threading.Thread(target=let_go)
    thread.start()
    try:
        answers = {backend(database) for _ in range(200)}
    finally:
        over.set()
        thread.join()
    assert len(answers) > 1
    database.close()


def backend(database: Database) -> int:
    return int(database.statement(b"SELECT pg_backend_pid()", {})[0][0])


def is_there(conn: Conn, pid: int) -> bool:
    asked = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
    return bool(conn.execute(asked, [pid]).fetchall()[0][0])
