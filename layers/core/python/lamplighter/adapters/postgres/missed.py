"""Fires that will not run: consecutive ones in one row, which has ended when it is written."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import instants, ints, texts, uuids
from lamplighter.adapters.postgres.calendars import calendars_of
from lamplighter.adapters.postgres.database import Moved, Row
from lamplighter.adapters.postgres.partitions import ensure_days
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.job import Job
from lamplighter.domain.run import NewRun, new_runs
from lamplighter.domain.schedule import missed_after
from lamplighter.ports.ledger import Missed

_SQL = queries("horizon")


class _Row(msgspec.Struct, frozen=True):
    run: NewRun
    gap: Missed


def insert_missed(cursor: Cursor[Row], missed: Sequence[tuple[Job, Missed]]) -> None:
    """Where a gap's first fire has a run, its row begins with a later one: none goes untold."""
    rows = [_Row(run, gap) for job, gap in missed for run in new_runs(job, gap.first)]
    while rows:
        written = _insert(cursor, rows)
        rows = _begun_later(cursor, [row for row in rows if row.run.run_id not in written])


def _insert(cursor: Cursor[Row], rows: Sequence[_Row]) -> set[UUID]:
    columns = {
        "run_ids": uuids(row.run.run_id for row in rows),
        "job_ids": uuids(row.run.job.job_id for row in rows),
        "tenants": texts(row.run.job.tenant for row in rows),
        "pools": texts(row.run.pool for row in rows),
        "priorities": ints(row.run.job.priority for row in rows),
        "delays": ints(row.run.delay_ms for row in rows),
        "reasons": ints(row.gap.reason for row in rows),
        "missed_tos": instants(row.gap.last for row in rows),
        "missed_counts": ints(row.gap.count for row in rows),
    }
    return {row[0] for row in cursor.execute(_SQL["insert_missed"], columns, binary=True)}


def _begun_later(cursor: Cursor[Row], rows: Sequence[_Row]) -> list[_Row]:
    if not rows:
        return []
    ids = sorted(row.run.run_id for row in rows)
    params = {"run_ids": uuids(ids), "first": ids[0], "last": ids[-1]}
    found = cursor.execute(_SQL["told_to"], params, binary=True).fetchall()
    told_to: dict[UUID, datetime] = dict(found)
    later = [left for row in rows for left in _left(cursor, row, told_to.get(row.run.run_id))]
    ensure_days(cursor, {row.gap.first for row in later})
    return later


def _left(cursor: Cursor[Row], row: _Row, told_to: datetime | None) -> list[_Row]:
    """The same gap in the same pool without the fires that are told of; none, if all are."""
    if told_to is None:
        raise Moved  # it was there a moment ago, and was removed
    job, gap = row.run.job, row.gap
    left = missed_after(job.schedule, told_to, gap.last, calendars_of(cursor, job))
    if left is None:
        return []
    rest = Missed(left.from_fire, left.to_fire, left.count, gap.reason)
    return [_Row(run, rest) for run in new_runs(job, rest.first) if run.pool == row.run.pool]
