"""Migrations: numbered SQL files, applied in order, forward only.

Ten processes may start at once: one of them migrates under an advisory lock, the others wait and
find nothing to do. Each file is a transaction with its own mark, so a run that was cut off goes on
where it stopped. A name says when it may run: `pre` before the new code is deployed, `post` after
the old code is gone.

No wait is without end. A file that meets a lock which somebody holds gives up soon, since whoever
asks for the table after it stands in line behind it; it tries again a few times, and then says so.
"""

import hashlib
import math
import time
from datetime import timedelta
from importlib.resources import files

import psycopg
from psycopg import Connection

from lamplighter.adapters.postgres.address import Address, resolved
from lamplighter.adapters.postgres.partitions import ensure_partitions
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable

_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('lamplighter:migrations', 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('lamplighter:migrations', 0))"
_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        name       text        PRIMARY KEY,
        digest     text        NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
DAYS_BACK, DAYS_AHEAD = 1, 7
# How long a statement may wait for a lock, and how often it is tried again after that.
LOCK_SECONDS, LOCK_ATTEMPTS = 4.0, 5
# How long another's migration may take before we say that it is stuck.
TURN_SECONDS = 300.0
_POLL_SECONDS = 0.05
_CONNECT_SECONDS, _KNOCK_SECONDS = 5, 1.0


class MigrationChanged(LamplighterError):
    """A migration was edited after it had been applied. Restore it, and add a new file instead."""


class MigrationBlocked(LedgerUnavailable):
    """Somebody holds a lock that a migration needs: end the transaction, and migrate again."""


class MigrationFailed(LamplighterError):
    """The database refused a migration. Nothing of that file was kept; those before it were."""


def migrate(url: Address, *, days_ahead: int = DAYS_AHEAD, wake_seconds: int = 0) -> list[str]:
    """Bring a database up to date; answers with the names of what was applied just now.

    One that rests, or is not up yet, is waited for as long as `wake_seconds`.
    """
    try:
        with _connected(url, wake_seconds) as conn:
            _take_turn(conn)
            try:
                applied = _apply_missing(conn)
                _ready_days(conn, days_ahead)
            finally:
                conn.execute(_UNLOCK)
            return applied
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(str(error)) from error


def _connected(url: Address, wake_seconds: int) -> Connection:
    """Whether it keeps who knocks waiting, refuses them, or hangs up, while it wakes."""
    deadline = time.monotonic() + wake_seconds
    while True:
        left = max(_CONNECT_SECONDS, math.ceil(deadline - time.monotonic()))
        try:
            return psycopg.connect(resolved(url), autocommit=True, connect_timeout=left)
        except psycopg.OperationalError as error:
            if time.monotonic() >= deadline or _is_final(error):
                raise
            time.sleep(_KNOCK_SECONDS)


def _is_final(error: psycopg.OperationalError) -> bool:
    """A server that is there has said no, and not merely that it is still starting."""
    return "FATAL" in str(error) and "starting up" not in str(error)


def migrations() -> dict[str, str]:
    """Every migration by name, in the order in which they apply."""
    folder = files(__package__) / "migrations"
    found = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return {name: (folder / name).read_text(encoding="utf-8") for name in found}


def _apply_missing(conn: Connection) -> list[str]:
    conn.execute(_TABLE)
    done: dict[str, str] = dict(
        conn.execute("SELECT name, digest FROM schema_migrations").fetchall()
    )
    applied = []
    for name, text in migrations().items():
        digest = hashlib.sha256(text.encode()).hexdigest()
        if name not in done:
            _apply(conn, name, text, digest)
            applied.append(name)
        elif done[name] != digest:
            raise MigrationChanged(f"{name}: {MigrationChanged.__doc__}")
    return applied


def _take_turn(conn: Connection) -> None:
    """Wait until nobody else migrates, as long as a migration may take."""
    conn.execute(f"SET lock_timeout = {int(LOCK_SECONDS * 1000)}".encode())
    deadline = time.monotonic() + TURN_SECONDS
    while not conn.execute(_LOCK).fetchall()[0][0]:
        if time.monotonic() > deadline:
            raise MigrationBlocked(
                f"another process has been migrating for {TURN_SECONDS:.0f} s: pg_stat_activity"
                " shows it; end it if it is stuck, and migrate again"
            )
        time.sleep(_POLL_SECONDS)


def _apply(conn: Connection, name: str, text: str, digest: str) -> None:
    """In one transaction, tried again where a lock was in the way."""
    for _ in range(LOCK_ATTEMPTS):
        try:
            return _apply_once(conn, name, text, digest)
        except psycopg.errors.LockNotAvailable:
            continue
        except psycopg.errors.OperationalError:
            raise
        except psycopg.Error as error:
            raise MigrationFailed(f"{name}: {error}. {MigrationFailed.__doc__}") from error
    raise MigrationBlocked(
        f"{name} waited {LOCK_ATTEMPTS} times {LOCK_SECONDS} s for a lock: find who holds it in"
        " pg_locks and pg_stat_activity, end that transaction, and migrate again"
    )


def _apply_once(conn: Connection, name: str, text: str, digest: str) -> None:
    with conn.transaction():
        conn.execute(text.encode())
        conn.execute("INSERT INTO schema_migrations (name, digest) VALUES (%s, %s)", (name, digest))


def _ready_days(conn: Connection, days_ahead: int) -> None:
    """Yesterday too: a submission around midnight may name a moment before it."""
    with conn.transaction(), conn.cursor() as cursor:
        [(now,)] = cursor.execute("SELECT clock_timestamp()").fetchall()
        first, last = now - timedelta(days=DAYS_BACK), now + timedelta(days=days_ahead)
        ensure_partitions(cursor, first, last)
