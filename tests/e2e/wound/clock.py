"""A clock that a test winds, for a real PostgreSQL and for the processes beside it.

The ledger's time is `clock_timestamp()` and `now()`. With `pg_catalog` named behind `public` in the
search path, functions of these names in `public` come first, and answer as many seconds ahead as a
table says. Column defaults are bound when a table is made, so this comes before the migrations.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import psycopg
from psycopg import sql

from lamplighter.adapters.postgres.migrate import migrate

_AHEAD: Final = """
    CREATE TABLE winding (ahead interval NOT NULL);
    INSERT INTO winding VALUES (interval '0');
    CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
        RETURN pg_catalog.clock_timestamp() + (SELECT ahead FROM winding);
    CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE
        RETURN pg_catalog.now() + (SELECT ahead FROM winding);
"""
# Whoever lived when the clock was wound has lived on: what they renew by and by is renewed.
_CARRY: Final = """
    CREATE FUNCTION carry(by interval) RETURNS void LANGUAGE sql BEGIN ATOMIC
        UPDATE leases SET expires_at = expires_at + by WHERE expires_at > public.clock_timestamp();
        UPDATE workers SET heartbeat_at = heartbeat_at + by
        WHERE heartbeat_at > public.clock_timestamp() - interval '15 s';
        UPDATE winding SET ahead = ahead + by;
    END
"""


def new_ledger(url: str, database: str, start: datetime) -> None:
    """Make the tables in an empty database, as of a moment, under a clock that can be wound."""
    path = sql.SQL("ALTER DATABASE {} SET search_path = public, pg_catalog")
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(path.format(sql.Identifier(database)))
        conn.execute(_AHEAD)
        conn.execute("UPDATE winding SET ahead = %s - pg_catalog.now()", [start])
        migrate(url, days_ahead=1)
        conn.execute(_CARRY)


class WoundClock:
    """The time of one database, and the same time for those who do not ask it."""

    def __init__(self, url: str) -> None:
        self._conn = psycopg.connect(url, autocommit=True)
        self._ahead = timedelta()
        self._zero = self._ask() - timedelta(seconds=time.monotonic())

    def steady(self) -> float:
        """As time.monotonic, for processes whose hours are wound."""
        return time.monotonic() + self._ahead.total_seconds()

    def now(self) -> datetime:
        return self._zero + timedelta(seconds=self.steady())

    def jump(self, by: timedelta) -> None:
        """An outage: nobody lived through these hours."""
        self._wind("UPDATE winding SET ahead = ahead + %s", by)

    def step(self, by: timedelta) -> None:
        """Time goes by, and everybody with it."""
        self._wind("SELECT carry(%s)", by)

    def rows(self, query: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._conn.execute(query.encode(), params).fetchall()

    def close(self) -> None:
        self._conn.close()

    def _wind(self, how: str, by: timedelta) -> None:
        # The ledger first: nobody may think that it is later than the ledger says.
        self._conn.execute(how.encode(), [by])
        self._ahead += by

    def _ask(self) -> datetime:
        [(now,)] = self.rows("SELECT clock_timestamp()")
        instant: datetime = now
        return instant.astimezone(UTC)
