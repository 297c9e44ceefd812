"""The open runs of jobs, found by where they wait (docs/decisions/open-runs.md)."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import uuids
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import first_run_id

_SQL: Final = queries("change")


def open_runs(cursor: Cursor[Row], job_id: UUID) -> list[UUID]:
    """Every run of this job that has not ended."""
    return [row[0] for row in open_rows(cursor, [job_id])]


def open_rows(cursor: Cursor[Row], job_ids: Iterable[UUID]) -> list[Row]:
    """The same of several: run, job, pool and origin."""
    [(since,)] = cursor.execute(_SQL["settled_below"]).fetchall()
    params = {"job_ids": uuids(job_ids), "since": first_run_id(since)}
    return cursor.execute(_SQL["open_runs"], params, binary=True).fetchall()
