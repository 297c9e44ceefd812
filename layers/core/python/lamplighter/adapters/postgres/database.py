"""Connections to PostgreSQL: bounded transactions, bounded retries, and one error for callers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg import Connection, Cursor, errors, sql
from psycopg.abc import PQGen
from psycopg.types.json import set_json_loads
from psycopg_pool import ConnectionPool, PoolClosed

from lamplighter.adapters.postgres import arrays
from lamplighter.adapters.postgres.address import Address
from lamplighter.domain.errors import LedgerUnavailable

T = TypeVar("T")
Row = tuple[Any, ...]


# A server that vanished without a word is given up after these seconds (and milliseconds), not
# when the kernel loses patience a quarter of an hour later.
_NETWORK = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}


class Moved(Exception):
    """What was peeked at without a lock has changed under it: the transaction starts over."""


# All mean "nothing happened, and the same call may work now". PoolClosed: another thread has let go
# of the connections, in the very moment that this one asked for one.
_TRY_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, PoolClosed, Moved)
_TRIES = 5
# What an answer may take on its way, beyond the time that the server allows a statement.
_SPARE_SECONDS = 3.0
# Whoever still connects, to a server that takes its time, is not waited for.
_CLOSE_SECONDS = 0.5
# InternalError: the server ended an idle transaction, or has become one that only reads.
_AWAY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)


class Bounds(msgspec.Struct, frozen=True):
    """How long the server lets a transaction go on, in milliseconds."""

    statement: int = 10_000
    lock: int = 3_000
    idle_in_transaction: int = 10_000

    def as_options(self) -> str:
        values = {
            "statement_timeout": self.statement,
            "lock_timeout": self.lock,
            "idle_in_transaction_session_timeout": self.idle_in_transaction,
            # A plan made for the ids at hand touches only their partitions.
            "plan_cache_mode": "force_custom_plan",
            "jit": "off",
            # What is hot is in memory, where no page is farther than another: with the default of
            # 4, a claim of a thousand runs reads a day of fifty thousand from end to end.
            "random_page_cost": "1.1",
            # A day that nobody has analyzed yet looks small: a bitmap and a sort would be planned
            # for every page of a herd, where the index has it in order.
            "enable_bitmapscan": "off",
            "timezone": "UTC",
        }
        return " ".join(f"-c {name}={value}" for name, value in values.items())


class Habits(msgspec.Struct, frozen=True):
    """How long a connection is waited for, and how long one stays open that nobody uses."""

    connect_seconds: int = 5
    idle_seconds: float = 600.0
    # The server's own bound: a process that is frozen closes nothing. None: it waits forever.
    idle_session_seconds: int | None = None

    def as_options(self) -> list[str]:
        seconds = self.idle_session_seconds
        return [] if seconds is None else [f"-c idle_session_timeout={seconds}s"]


# Of those who share a database that pauses once nobody is connected, and takes a while to resume.
THRIFTY = Habits(connect_seconds=25, idle_seconds=5.0, idle_session_seconds=60)


class PatientConnection(Connection[Row]):
    """Waits for an answer longer than the server may take for one, and no longer.

    A server that stands still, or a network that swallows everything, ends no statement at all.
    """

    patience: float = 15.0

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self.close()  # the answer would come to the next question
            raise


class Database:
    """A pool of connections, each to the address of its time. What goes wrong is named here."""

    def __init__(
        self,
        url: Address,
        *,
        max_size: int = 8,
        bounds: Bounds | None = None,
        habits: Habits | None = None,
    ) -> None:
        self._url, self._max_size = url, max_size
        self._bounds, self._habits = bounds or Bounds(), habits or Habits()
        self._patience = self._bounds.statement / 1000 + _SPARE_SECONDS
        self._pool = self._new_pool()
        self._opening = threading.Lock()

    def _new_pool(self) -> ConnectionPool[PatientConnection]:
        options = " ".join([self._bounds.as_options(), *self._habits.as_options()])
        connecting = {"connect_timeout": self._habits.connect_seconds, **_NETWORK}
        return ConnectionPool(
            self._url,
            connection_class=PatientConnection,
            kwargs={"options": options, "autocommit": True, **connecting},
            configure=_configure,
            min_size=0,
            max_size=self._max_size,
            timeout=self._habits.connect_seconds,
            max_idle=self._habits.idle_seconds,
            # After this the next caller tries anew; a longer one would wait ever longer between
            # two attempts, and go on waiting when the server is back.
            reconnect_timeout=1,
            open=False,
        )

    def run(self, work: Callable[[Cursor[Row]], T], *, patience: float | None = None) -> T:
        """Do `work` in one transaction; again, a bounded number of times, when it met another.

        `patience`: seconds, for work that allows its statements more than others have.
        """

        def once(conn: PatientConnection) -> T:
            conn.patience = patience or conn.patience
            with conn.transaction(), conn.cursor() as cursor:
                return work(cursor)

        return self._try(once)

    def statement(self, query: bytes, params: dict[str, Any]) -> list[Row]:
        """One statement that is a transaction of its own: one round trip, the fast way."""

        def once(conn: PatientConnection) -> list[Row]:
            with conn.cursor(binary=True) as cursor:
                cursor.execute(query, params)
                return cursor.fetchall() if cursor.description else []

        return self._try(once)

    def _try(self, once: Callable[[PatientConnection], T]) -> T:
        for last_try in (*[False] * (_TRIES - 1), True):
            try:
                with self._connection() as conn:
                    return once(conn)
            except _TRY_AGAIN as error:
                if last_try:
                    raise LedgerUnavailable(f"gave way {_TRIES} times: {error}") from error
        raise AssertionError("unreachable: the last try returns or raises")

    def command(self, command: sql.Composed) -> None:
        """Something that PostgreSQL does outside transactions only."""
        with self._connection() as conn:
            conn.execute(command)

    @contextmanager
    def _connection(self) -> Iterator[PatientConnection]:
        """A connection; "not reachable" and "not in time" become one error."""
        conn: PatientConnection | None = None
        try:
            with self._opened().connection() as conn:
                conn.patience = self._patience
                yield conn
        except _TRY_AGAIN:
            raise
        except errors.CheckViolation as error:
            if error.diag.constraint_name is not None:
                raise
            raise Moved("a day was retired that this needs") from error
        except _AWAY as error:
            if conn is not None and conn.closed:
                self._pool.drain()  # the others were lost with it, and would fail one by one
            raise LedgerUnavailable(str(error)) from error

    def _opened(self) -> ConnectionPool[PatientConnection]:
        pool = self._pool
        if pool.closed:
            with self._opening:
                pool = self._pool
                pool.open()
        return pool

    def let_go(self) -> bool:
        """Close every connection; the next call opens one again. Whether anybody had asked for one.

        One that is in use is closed when it is given back. Not `drain`: that opens new ones. While
        somebody waits for one, all stay: that one will let go of them.
        """
        with self._opening:
            left = self._pool
            stats = left.get_stats()
            if not stats.get("requests_num"):
                return False
            if stats.get("requests_waiting"):
                return True
            self._pool = self._new_pool()
        left.close(_CLOSE_SECONDS)
        return True

    def close(self) -> None:
        self._pool.close()


def _configure(conn: Connection[Row]) -> None:
    set_json_loads(msgspec.json.decode, conn)
    arrays.register(conn)
