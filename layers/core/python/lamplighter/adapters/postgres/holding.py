"""What a change of a job may touch, locked before it touches any of it: schedule, keys, runs."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import uuids
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job
from lamplighter.domain.slots import slot_keys

_SQL = queries("change")
_FIRST = UUID(int=0)


class Held(msgspec.Struct, frozen=True):
    """A schedule that nobody moves while this transaction lasts, and the moment it was held.

    Up to then fires are past, from then on ahead; a second look at the clock would leave those
    between the two to nobody.
    """

    stands: datetime | None
    now: datetime


def hold_schedule(cursor: Cursor[Row], job_id: UUID) -> Held:
    stands = _lock_schedule(cursor, job_id)
    return Held(stands, _clock(cursor))


def hold(cursor: Cursor[Row], before: Job, after: Job) -> Held:
    """For a change that goes through a job's runs more than once.

    Every key in one go, those it had and those it will have: to lock some now and some later is to
    hold what another change waits for, and to wait for what that one holds. The clock is read last:
    no run whose time comes afterwards has been started.
    """
    stands = _lock_schedule(cursor, before.job_id)
    below = [job.job_id for job in Graph(cursor).dependents_below([before.job_id])]
    rows = _open_rows(cursor, [before.job_id, *below], _FIRST)
    ways = {(pool, origin) for _, job_id, pool, origin in rows if job_id == before.job_id}
    ways |= {(pool, BY_SCHEDULE) for pool in (*before.pools, *after.pools)}
    keys = {key.name for job in (before, after) for way in ways for key in slot_keys(job, *way)}
    LockedRuns(cursor, [row[0] for row in rows], keys=keys)
    return Held(stands, _clock(cursor))


def open_runs(cursor: Cursor[Row], job_ids: Iterable[UUID], since: UUID = _FIRST) -> list[UUID]:
    """Every run of these jobs that has not ended, from a key on."""
    return [row[0] for row in _open_rows(cursor, job_ids, since)]


def _open_rows(cursor: Cursor[Row], job_ids: Iterable[UUID], since: UUID) -> list[Row]:
    params = {"job_ids": uuids(job_ids), "since": since}
    return cursor.execute(_SQL["open_runs"], params, binary=True).fetchall()


def _lock_schedule(cursor: Cursor[Row], job_id: UUID) -> datetime | None:
    rows = cursor.execute(_SQL["hold_schedule"], {"job_id": job_id}).fetchall()
    return rows[0][0] if rows else None


def _clock(cursor: Cursor[Row]) -> datetime:
    now: datetime = cursor.execute("SELECT clock_timestamp()").fetchall()[0][0]
    return now
