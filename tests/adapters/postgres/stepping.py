"""Ledger calls that stop before each of their statements, so that a test decides who goes first.

Every round trip of psycopg goes through `Connection.wait`: BEGIN and COMMIT as well as queries. A
gate there lets through as many as the test has allowed. Two calls then run in two threads over two
real connections, and whether one waits for the other's lock is asked of the server, not guessed.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.abc import PQGen
from psycopg.errors import DeadlockDetected
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool

from lamplighter.adapters.postgres.database import (
    Database,
    PatientConnection,
    Row,
    _configure,
)
from lamplighter.adapters.postgres.ledger import PostgresLedger
from tests.adapters.postgres.patience import PATIENT, SLOWLY

RV = TypeVar("RV")
Call = Callable[[PostgresLedger], Any]

ALL = 1_000_000
_BOUND_SECONDS = 20.0
_POLL_SECONDS = 0.002


class Gate:
    """Where a call waits until its next statement is allowed."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.allowed = ALL
        self.is_waiting = False
        self.passed = 0
        self.deadlocks = 0
        self.backend = 0

    def pass_through(self, backend: int) -> None:
        with self.changed:
            self.backend = backend
            self.is_waiting = self.allowed == 0
            self.changed.notify_all()
            passed = self.changed.wait_for(lambda: self.allowed > 0, _BOUND_SECONDS)
            assert passed, "nobody let this call go on"
            self.is_waiting = False
            self.allowed -= 1
            self.passed += 1

    def allow(self, statements: int) -> None:
        with self.changed:
            self.allowed = statements
            self.is_waiting = self.is_waiting and statements == 0
            self.changed.notify_all()


class SteppedConnection(PatientConnection):
    gate: Gate | None = None

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        # Leaving `with conn:` commits, which is nothing at all outside a transaction.
        outside = self.pgconn.transaction_status == TransactionStatus.IDLE
        idle = outside and getattr(gen, "__name__", "") == "_commit_gen"
        if self.gate is not None and not idle:
            self.gate.pass_through(self.pgconn.backend_pid)
        try:
            return super().wait(gen, *args, **kwargs)
        except DeadlockDetected:
            if self.gate is not None:
                self.gate.deadlocks += 1
            raise


class SteppedDatabase(Database):
    def __init__(self, url: str, gate: Gate) -> None:
        super().__init__(url, max_size=1, bounds=PATIENT)
        # Deadlocks are part of the game here: a second for each would be most of the run time.
        options = f"{PATIENT.as_options()} -c deadlock_timeout=20ms"

        def configure(conn: Connection[Row]) -> None:
            _configure(conn)
            assert isinstance(conn, SteppedConnection)
            conn.gate = gate

        self._pool = ConnectionPool(
            url,
            connection_class=SteppedConnection,
            kwargs={"options": options, "autocommit": True},
            configure=configure,
            min_size=0,
            max_size=1,
            timeout=SLOWLY.connect_seconds,
            open=False,
        )


class Player:
    """A ledger of its own, in a thread of its own, that goes on only as far as it is let."""

    def __init__(self, url: str) -> None:
        self.gate = Gate()
        self._ledger = PostgresLedger(url)
        self._ledger._db = SteppedDatabase(url, self.gate)
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._call: Future[Any] = Future()
        self._watch = psycopg.connect(url, autocommit=True)

    def begin(self, call: Call) -> None:
        """Start the call; it stops before its first statement."""
        self.gate.allow(0)
        self.gate.passed = 0
        self._call = self._thread.submit(call, self._ledger)
        self._call.add_done_callback(lambda _: self._wake())

    def _wake(self) -> None:
        with self.gate.changed:
            self.gate.changed.notify_all()

    @property
    def is_done(self) -> bool:
        return self._call.done()

    def go(self, statements: int = ALL) -> None:
        """Let so many statements through; return when it has stopped, ended, or met a lock."""
        self.gate.allow(statements)
        for _ in range(int(_BOUND_SECONDS / _POLL_SECONDS)):
            if self._stands_still() or self._is_locked_out():
                return
        raise AssertionError("the call neither stopped, nor ended, nor waits for a lock")

    def _stands_still(self) -> bool:
        with self.gate.changed:
            return self.gate.changed.wait_for(
                lambda: self.is_done or self.gate.is_waiting, _POLL_SECONDS
            )

    def _is_locked_out(self) -> bool:
        query = "SELECT cardinality(pg_blocking_pids(%s)) > 0"
        rows = self._watch.execute(query, [self.gate.backend]).fetchall()
        return bool(rows[0][0])

    def answer(self) -> Any:
        """What the call returned, or raised."""
        self.gate.allow(ALL)
        error = self._call.exception(timeout=_BOUND_SECONDS)
        return self._call.result() if error is None else error

    def close(self) -> None:
        self.gate.allow(ALL)
        self._thread.shutdown()
        self._ledger.close()
        self._watch.close()


class Players:
    """Those who race in one database, by number."""

    def __init__(self, url: str, how_many: int = 3) -> None:
        self._players = [Player(url) for _ in range(how_many)]

    def play(self, calls: list[Call], turns: list[tuple[int, int]]) -> list[Any]:
        """Let the calls take turns, (who, how many statements), then all run to their ends."""
        players = self._players[: len(calls)]
        for player, call in zip(players, calls, strict=True):
            player.begin(call)
        for who, statements in turns:
            players[who].go(statements)
        for player in players:
            player.gate.allow(ALL)
        return [player.answer() for player in players]

    def statements(self, who: int) -> int:
        """How many statements this one's last call made."""
        return self._players[who].gate.passed

    @property
    def deadlocks(self) -> int:
        """How often the server had to break a circle, in all races so far."""
        return sum(player.gate.deadlocks for player in self._players)

    def close(self) -> None:
        for player in self._players:
            player.close()
