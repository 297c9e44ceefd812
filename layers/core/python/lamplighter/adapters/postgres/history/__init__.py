"""The ledger's history for the checker, read in one snapshot. A file of SQL for each question."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.codec import (
    JOB_COLUMNS,
    JOB_WIDTH,
    RUN_COLUMNS,
    row_to_job,
    row_to_run,
)
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.listing import without
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import Calendar
from lamplighter.ports.ledger_history import FIRST_ID, JobLife, KnownCalendar, LedgerHistory

T = TypeVar("T")

_COLUMNS: Final = {
    "{job_columns}": without(JOB_COLUMNS, "j.payload, j.target"),
    "{run_columns}": without(RUN_COLUMNS, "r.result, r.stdout, r.stderr"),
}
# The work between two questions is ours, and may take longer than a claim's may.
_PATIENT: Final = (
    b"SET LOCAL idle_in_transaction_session_timeout = '10min'",
    b"SET LOCAL statement_timeout = '10min'",
)
_PATIENCE_SECONDS: Final = 630.0


def _query(name: str) -> bytes:
    text = (files(__package__) / f"{name}.sql").read_text(encoding="utf-8")
    for mark, columns in _COLUMNS.items():
        text = text.replace(mark, columns)
    return text.encode()


class PostgresHistory:
    def __init__(self, database: Database) -> None:
        self._db = database

    def read(self, work: Callable[[LedgerHistory], T]) -> T:
        def in_snapshot(cursor: Cursor[Row]) -> T:
            cursor.execute(b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for patience in _PATIENT:
                cursor.execute(patience)
            return work(Snapshot(cursor))

        return self._db.run(in_snapshot, patience=_PATIENCE_SECONDS)


class Snapshot:
    """The history as of the moment at which its transaction began."""

    def __init__(self, cursor: Cursor[Row]) -> None:
        self._cursor = cursor
        self._queries: dict[str, bytes] = {}

    def _ask(self, name: str, **params: Any) -> list[Row]:
        query = self._queries.get(name)
        if query is None:
            query = self._queries[name] = _query(name)
        return self._cursor.execute(query, params, binary=True).fetchall()

    def now(self) -> datetime:
        instant: datetime = self._ask("now")[0][0]
        return instant

    def kept_since(self) -> datetime:
        instant: datetime = self._ask("kept_since")[0][0]
        return instant

    def heartbeats(self) -> Mapping[str, datetime]:
        return dict(self._ask("heartbeats"))

    def calendars(self, tenant: str) -> list[KnownCalendar]:
        rows = self._ask("calendars", tenant=tenant)
        return [
            KnownCalendar(
                msgspec.structs.replace(msgspec.convert(row[0], Calendar), version=row[1]), row[2]
            )
            for row in rows
        ]

    def lives(self, tenant: str | None, after: UUID, limit: int) -> list[JobLife]:
        return self._lives(tenant=tenant, after=after, limit=limit, job_ids=None)

    def lives_of(self, job_ids: Sequence[UUID]) -> list[JobLife]:
        return self._lives(tenant=None, after=FIRST_ID, limit=len(job_ids), job_ids=list(job_ids))

    def _lives(self, **params: Any) -> list[JobLife]:
        rows = self._ask("lives", **params)
        before: dict[UUID, list[Job]] = {row[0]: [] for row in rows}
        for job_id, job in self._ask("versions", job_ids=list(before)):
            before[job_id].append(msgspec.convert(job, Job))
        return [
            JobLife((*before[row[0]], row_to_job(row[:JOB_WIDTH])), row[JOB_WIDTH]) for row in rows
        ]

    def runs_of(self, job_ids: Sequence[UUID], since: datetime, until: datetime) -> list[Run]:
        rows = self._ask("runs", job_ids=list(job_ids), **_range(since, until))
        return [row_to_run(row) for row in rows]

    def attempts_of(self, run_ids: Sequence[UUID]) -> list[Attempt]:
        return [Attempt(*row) for row in self._ask("attempts", run_ids=list(run_ids))]

    def missed_before(self, job_id: UUID, since: datetime) -> list[Run]:
        params = {"job_id": job_id, "since": since, "first": first_run_id(since)}
        return [row_to_run(row) for row in self._ask("missed_before", **params)]

    def strays(self, tenant: str | None, since: datetime, until: datetime, limit: int) -> list[Run]:
        rows = self._ask("strays", tenant=tenant, limit=limit, **_range(since, until))
        return [row_to_run(row) for row in rows]

    def ahead_in(self, keys: Sequence[str]) -> Mapping[str, frozenset[UUID]]:
        rows = self._ask("ahead_in", keys=list(keys))
        return {key: frozenset(run_ids) for key, run_ids in rows}


def _range(since: datetime, until: datetime) -> dict[str, UUID]:
    return {"first": first_run_id(since), "last": first_run_id(until)}
