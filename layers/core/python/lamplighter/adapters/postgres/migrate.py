"""Migrations: numbered SQL files, applied in order, forward only.

Ten processes may start at once: one of them migrates under an advisory lock, the others wait and
find nothing to do. Each file is a transaction with its own mark, so a run that was cut off goes on
where it stopped. A name says when it may run: `pre` before the new code is deployed, `post` after
the old code is gone.
"""

import hashlib
from datetime import timedelta
from importlib.resources import files

import psycopg
from psycopg import Connection

from lamplighter.adapters.postgres.address import Address, resolved
from lamplighter.adapters.postgres.partitions import ensure_partitions
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable

_LOCK = "SELECT pg_advisory_lock(hashtextextended('lamplighter:migrations', 0))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('lamplighter:migrations', 0))"
_TABLE = """
    CREATE TABLE IF NOT EXISTS schema_migrations (
        name       text        PRIMARY KEY,
        digest     text        NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    )
"""
DAYS_BACK, DAYS_AHEAD = 1, 7


class MigrationChanged(LamplighterError):
    """A migration was edited after it had been applied. Restore it, and add a new file instead."""


def migrate(url: Address, *, days_ahead: int = DAYS_AHEAD, connect_seconds: int = 5) -> list[str]:
    """Bring a database up to date; answers with the names of what was applied just now."""
    try:
        with psycopg.connect(
            resolved(url), autocommit=True, connect_timeout=connect_seconds
        ) as conn:
            conn.execute(_LOCK)
            try:
                applied = _apply_missing(conn)
                _ready_days(conn, days_ahead)
            finally:
                conn.execute(_UNLOCK)
            return applied
    except psycopg.OperationalError as error:
        raise LedgerUnavailable(str(error)) from error


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


def _apply(conn: Connection, name: str, text: str, digest: str) -> None:
    with conn.transaction():
        conn.execute(text.encode())
        conn.execute("INSERT INTO schema_migrations (name, digest) VALUES (%s, %s)", (name, digest))


def _ready_days(conn: Connection, days_ahead: int) -> None:
    """Yesterday too: a submission around midnight may name a moment before it."""
    with conn.transaction(), conn.cursor() as cursor:
        [(now,)] = cursor.execute("SELECT clock_timestamp()").fetchall()
        first, last = now - timedelta(days=DAYS_BACK), now + timedelta(days=days_ahead)
        ensure_partitions(cursor, first, last)
