"""The ledger's days: a partition each, made ahead (and retired whole: see retiring.py).

A table is made beside the ledger and then attached, because attaching lets everybody go on reading
and writing, and `CREATE TABLE … PARTITION OF` does not.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from psycopg import Cursor, sql

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import first_run_id

_SQL = queries("partitions")
DAY = timedelta(days=1)
_PREFIX = "job_runs_"


class PostgresUpkeep:
    _db: Database

    def ensure_partitions(self, first: datetime, last: datetime) -> None:
        self._db.run(lambda cursor: ensure_partitions(cursor, first, last))


def day_of(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def ensure_days(cursor: Cursor[Row], fires: Iterable[datetime]) -> None:
    """Partitions for these fires, wherever they lie: backfill and catch-up reach far back."""
    missing = {day_of(fire) for fire in fires} - days_of(cursor)
    if missing:
        put_back(cursor)
        for day in sorted(missing - days_of(cursor)):
            _make(cursor, day)


def days_of(cursor: Cursor[Row]) -> set[datetime]:
    return {day_named(row[0]) for row in cursor.execute(_SQL["partitions"])}


def put_back(cursor: Cursor[Row]) -> None:
    """Lock, and undo retirings that were cut off: who retires these days begins anew."""
    cursor.execute(_SQL["lock_partitions"])
    for name, is_half_in in cursor.execute(_SQL["cut_off"]).fetchall():
        if is_half_in:
            finalize = sql.SQL("ALTER TABLE job_runs DETACH PARTITION {} FINALIZE")
            cursor.execute(finalize.format(sql.Identifier(name)))
        _attach(cursor, day_named(name))


def ensure_partitions(cursor: Cursor[Row], first: datetime, last: datetime) -> None:
    put_back(cursor)
    start, end = _without_hole(cursor, day_of(first)), day_of(last) + DAY
    wanted = {start + n * DAY for n in range((end - start).days)}
    for day in sorted(wanted - days_of(cursor)):
        _make(cursor, day)
    _extend_ready(cursor, start, end)


def _without_hole(cursor: Cursor[Row], first: datetime) -> datetime:
    """From the end of what is ready, where nobody made a day for so long that it lies behind."""
    ready_from, ready_to = cursor.execute(_SQL["bounds"]).fetchall()[0]
    return first if ready_from == ready_to else min(first, day_of(ready_to))


def _extend_ready(cursor: Cursor[Row], first: datetime, end: datetime) -> None:
    """The days that submissions may write to are one stretch without holes."""
    ready_from, ready_to = cursor.execute(_SQL["bounds"]).fetchall()[0]
    if ready_from == ready_to:
        ready_from, ready_to = first, end
    elif first <= ready_to and end >= ready_from:
        ready_from, ready_to = min(first, ready_from), max(end, ready_to)
    cursor.execute(_SQL["make_ready"], {"ready_from": ready_from, "ready_to": ready_to})


def name_of(day: datetime) -> str:
    return f"{_PREFIX}{day:%Y%m%d}"


def day_named(name: str) -> datetime:
    return datetime.strptime(name, f"{_PREFIX}%Y%m%d").replace(tzinfo=UTC)


def _make(cursor: Cursor[Row], day: datetime) -> None:
    # Two thirds of a page stay empty: room for the claims and the completions of all its rows at
    # once, each longer than the row before, which is what makes them HOT. The table ends no larger
    # than with half-empty pages, where what did not fit went to new ones (decision 0001).
    cursor.execute(
        sql.SQL(
            "CREATE TABLE IF NOT EXISTS {table} (LIKE job_runs INCLUDING ALL) WITH "
            "(fillfactor = 35, autovacuum_vacuum_scale_factor = 0.05, "
            "autovacuum_analyze_scale_factor = 0.02)"
        ).format(table=sql.Identifier(name_of(day)))
    )
    _attach(cursor, day)


def _attach(cursor: Cursor[Row], day: datetime) -> None:
    cursor.execute(
        sql.SQL(
            "ALTER TABLE job_runs ATTACH PARTITION {table} FOR VALUES FROM ({low}) TO ({high})"
        ).format(
            table=sql.Identifier(name_of(day)),
            low=sql.Literal(str(first_run_id(day))),
            high=sql.Literal(str(first_run_id(day + DAY))),
        )
    )
