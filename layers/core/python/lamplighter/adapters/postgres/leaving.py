"""Jobs that leave: a page at a time, each a short transaction."""

from collections.abc import Collection
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import uuids
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.queries import queries

_SQL: Final = queries("partitions")
PAGE: Final = 5000


def forget_jobs(database: Database, job_ids: Collection[UUID], before: datetime) -> None:
    """Those of them that are finished and that nobody waits for, then whom that leaves alone.

    A graph may be spread over pages and days: an upstream leaves with the last one below it.
    """
    while job_ids:
        left = database.run(partial(_forget, job_ids=job_ids, before=before))
        job_ids = {row[0] for row in _above(database, left)} if left else ()


def _forget(cursor: Cursor[Row], job_ids: Collection[UUID], before: datetime) -> list[UUID]:
    """Answers with upstreams that have lost somebody."""
    # Locked first, judged by a second statement: whoever began to wait for one of them is seen.
    given = {"job_ids": uuids(job_ids), "before": before}
    rows = cursor.execute(_SQL["lock_finished"], given, binary=True).fetchall()
    if not rows:
        return []
    locked = {"job_ids": uuids(row[0] for row in rows)}
    return [row[0] for row in cursor.execute(_SQL["forget_jobs"], locked, binary=True)]


def _above(database: Database, job_ids: Collection[UUID]) -> list[Row]:
    params = {"job_ids": uuids(job_ids), "limit": PAGE}
    return database.statement(_SQL["fired_above"], params)
