"""The ledger's days: a partition each, made ahead, retired whole.

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
_DAY = timedelta(days=1)
_PREFIX = "job_runs_"


# Finished one-off jobs leave with their history; a graph of them leaves whole, and an upstream
# stays as long as somebody below it does.
_LEAVING_JOBS = """
    WITH RECURSIVE done AS (
        SELECT DISTINCT j.job_id FROM {} AS r JOIN jobs AS j USING (job_id)
        WHERE NOT j.repeats
          AND NOT EXISTS (SELECT FROM job_runs AS o WHERE o.job_id = j.job_id)
          AND NOT EXISTS (SELECT FROM schedules AS s WHERE s.job_id = j.job_id)
    ), needed (job_id) AS (
        SELECT d.upstream_id FROM job_dependencies AS d
        WHERE d.upstream_id IN (SELECT job_id FROM done)
          AND d.job_id NOT IN (SELECT job_id FROM done)
        UNION
        SELECT d.upstream_id FROM needed JOIN job_dependencies AS d ON d.job_id = needed.job_id
    ), leaving AS (
        SELECT job_id FROM done WHERE job_id NOT IN (SELECT job_id FROM needed)
    ), parted AS (  -- or an upstream that goes before its dependent would still be referred to
        DELETE FROM job_dependencies WHERE job_id IN (SELECT job_id FROM leaving)
    )
    DELETE FROM jobs WHERE job_id IN (SELECT job_id FROM leaving)
"""


class PostgresUpkeep:
    _db: Database

    def ensure_partitions(self, first: datetime, last: datetime) -> None:
        self._db.run(lambda cursor: ensure_partitions(cursor, first, last))

    def drop_partitions(self, before: datetime) -> list[str]:
        self._db.run(_put_back)
        names = self._db.run(lambda cursor: _retire(cursor, before))
        return [name for name in names if self._drop(name)]

    def _drop(self, name: str) -> bool:
        """Detach without blocking anybody, look once more, then drop; or put it back."""
        table = sql.Identifier(name)
        self._db.command(
            sql.SQL("ALTER TABLE job_runs DETACH PARTITION {} CONCURRENTLY").format(table)
        )
        return self._db.run(lambda cursor: _drop_detached(cursor, name))


def day_of(instant: datetime) -> datetime:
    return instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def ensure_days(cursor: Cursor[Row], fires: Iterable[datetime]) -> None:
    """Partitions for these fires, wherever they lie: backfill and catch-up reach far back."""
    missing = {day_of(fire) for fire in fires} - _days(cursor)
    if missing:
        _put_back(cursor)
        for day in sorted(missing - _days(cursor)):
            _make(cursor, day)


def _days(cursor: Cursor[Row]) -> set[datetime]:
    return {_day(row[0]) for row in cursor.execute(_SQL["partitions"])}


def _put_back(cursor: Cursor[Row]) -> None:
    """Lock, and undo retirings that were cut off: who retires these days begins anew."""
    cursor.execute(_SQL["lock_partitions"])
    for name, is_half_in in cursor.execute(_SQL["cut_off"]).fetchall():
        if is_half_in:
            finalize = sql.SQL("ALTER TABLE job_runs DETACH PARTITION {} FINALIZE")
            cursor.execute(finalize.format(sql.Identifier(name)))
        _attach(cursor, _day(name))


def ensure_partitions(cursor: Cursor[Row], first: datetime, last: datetime) -> None:
    _put_back(cursor)
    start, end = _without_hole(cursor, day_of(first)), day_of(last) + _DAY
    wanted = {start + n * _DAY for n in range((end - start).days)}
    for day in sorted(wanted - _days(cursor)):
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


def _day(name: str) -> datetime:
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
            high=sql.Literal(str(first_run_id(day + _DAY))),
        )
    )


def _retire(cursor: Cursor[Row], before: datetime) -> list[str]:
    """Days that are over and have no open run; from here on nothing is submitted to them."""
    cursor.execute(_SQL["lock_partitions"])
    names = [row[0] for row in cursor.execute(_SQL["partitions"]).fetchall()]
    old = [name for name in names if name < name_of(day_of(before))]
    settled = [name for name in old if not _has_open_runs(cursor, name)]
    ready_from, ready_to = cursor.execute(_SQL["bounds"]).fetchall()[0]
    if settled:
        newest = _day(settled[-1])
        params = {"ready_from": max(ready_from, newest + _DAY), "ready_to": ready_to}
        cursor.execute(_SQL["make_ready"], params)
    return settled


def _has_open_runs(cursor: Cursor[Row], name: str) -> bool:
    query = sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE status < 10)").format(sql.Identifier(name))
    return bool(cursor.execute(query).fetchall()[0][0])


def _drop_detached(cursor: Cursor[Row], name: str) -> bool:
    day = _day(name)
    cursor.execute(_SQL["lock_partitions"])
    if day in _days(cursor):
        return False  # somebody needed it meanwhile, and has put it back
    if _has_open_runs(cursor, name):  # written between the look and the detaching
        _attach(cursor, day)
        return False
    table = sql.Identifier(name)
    cursor.execute(sql.SQL(_LEAVING_JOBS).format(table))
    bounds = {"first": first_run_id(day), "last": first_run_id(day + _DAY)}
    cursor.execute(_SQL["forget_attempts"], bounds)
    cursor.execute(sql.SQL("DROP TABLE {}").format(table))
    return True
