"""Days of history that go: taken out of the ledger first, then forgotten in pages, then dropped.

A day that is taken out and has no open run gets another name. From there on nobody puts it back,
and whoever comes next goes on with it: it may take many short transactions until its jobs are gone.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from typing import Final
from uuid import UUID

from psycopg import Cursor, sql
from psycopg.errors import UndefinedTable

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.leaving import PAGE, forget_jobs
from lamplighter.adapters.postgres.partitions import (
    DAY,
    day_named,
    day_of,
    days_of,
    name_of,
    put_back,
)
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import first_run_id

_SQL: Final = queries("partitions")
_LEDGER: Final = b"FROM job_runs AS r"
_FIRST: Final[UUID | None] = UUID(int=0)


class PostgresRetiring:
    _db: Database

    def drop_partitions(self, before: datetime) -> list[str]:
        """Each step is a short transaction; what was cut off is taken up by the next call."""
        self._db.run(put_back)
        left_over = [day_named(row[0]) for row in self._db.statement(_SQL["set_aside"], {})]
        gone = [name_of(day) for day in left_over if self._forget_day(day, before)]
        taken_out = (day for day in self._retire(before) if self._take_out(day))
        return gone + [name_of(day) for day in taken_out if self._forget_day(day, before)]

    def _retire(self, before: datetime) -> list[datetime]:
        """Days that are over and have no open run; from here on nothing is submitted to them."""
        days = [day_named(row[0]) for row in self._db.statement(_SQL["partitions"], {})]
        old = [day for day in days if day < day_of(before)]
        settled = [day for day in old if self._is_settled(day)]
        if settled:
            self._db.run(lambda cursor: _close(cursor, settled[-1] + DAY))
        return settled

    def _is_settled(self, day: datetime) -> bool:
        """Page by page: no index knows (decision 0001), and a whole day may be many millions."""
        query, last = _on(name_of(day), _SQL["open_in_page"]), _FIRST
        with suppress(UndefinedTable):  # somebody else has set it aside
            while last is not None:
                [(last, is_open)] = self._db.statement(query, {"after": last, "limit": PAGE})
                if is_open:
                    return False
            return True
        return False

    def _take_out(self, day: datetime) -> bool:
        """Detach without blocking anybody, look once more, then set aside; or put it back."""
        detach = sql.SQL("ALTER TABLE job_runs DETACH PARTITION {} CONCURRENTLY")
        self._db.command(detach.format(sql.Identifier(name_of(day))))
        stamp = self._db.run(lambda cursor: _stamp(cursor, day))
        if not self._is_settled(day):  # written to between the look and the detaching
            self._db.run(put_back)
            return False
        return self._db.run(lambda cursor: _set_aside(cursor, day, stamp))

    def _forget_day(self, day: datetime, before: datetime) -> bool:
        """All that leaves with a day that was set aside, and at last the day. Safe to repeat."""
        with suppress(UndefinedTable):  # somebody else was faster
            for job_ids in self._pages_of_jobs(_aside(day)):
                forget_jobs(self._db, job_ids, before)
            bounds = {"first": first_run_id(day), "last": first_run_id(day + DAY), "limit": PAGE}
            while len(self._db.statement(_SQL["forget_attempts"], bounds)) == PAGE:
                pass
            self._db.command(sql.SQL("DROP TABLE {}").format(sql.Identifier(_aside(day))))
            return True
        return False

    def _pages_of_jobs(self, table: str) -> Iterator[set[UUID]]:
        query, after = _on(table, _SQL["jobs_in_page"]), UUID(int=0)
        while rows := self._db.statement(query, {"after": after, "limit": PAGE}):
            yield {row[1] for row in rows}
            after = rows[-1][0]


def _aside(day: datetime) -> str:
    return f"retired_{name_of(day)}"


def _on(table: str, query: bytes) -> bytes:
    if query.count(_LEDGER) != 1:
        raise ValueError(f"the statement does not say {_LEDGER.decode()} once")
    return query.replace(_LEDGER, b"FROM %s AS r" % table.encode())


def _close(cursor: Cursor[Row], ready_from: datetime) -> None:
    cursor.execute(_SQL["lock_partitions"])
    [(begin, end)] = cursor.execute(_SQL["bounds"]).fetchall()
    params = {"ready_from": max(begin, ready_from), "ready_to": end}
    cursor.execute(_SQL["make_ready"], params)


def _stamp(cursor: Cursor[Row], day: datetime) -> list[Row]:
    """Another one each time that the day is attached or detached."""
    return cursor.execute(_SQL["stamp"], {"name": name_of(day)}).fetchall()


def _set_aside(cursor: Cursor[Row], day: datetime, stamp: list[Row]) -> bool:
    cursor.execute(_SQL["lock_partitions"])
    if day in days_of(cursor) or _stamp(cursor, day) != stamp:
        return False  # somebody needed it meanwhile, and has put it back
    table, name = sql.Identifier(name_of(day)), sql.Identifier(_aside(day))
    cursor.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(table, name))
    return True
