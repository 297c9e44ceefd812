"""What a change of a job may touch, locked before it touches any of it: schedule, keys, runs."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.open_runs import open_rows
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.ids import BY_SCHEDULE, first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.slots import slot_keys

_SQL = queries("change")


class Held(msgspec.Struct, frozen=True):
    """A schedule that nobody moves while this transaction lasts, and the moment it was held.

    Up to then fires are past, from then on ahead; a second look at the clock would leave those
    between the two to nobody.
    """

    stands: datetime | None
    now: datetime
    own_runs: Sequence[UUID] = ()  # what was open of the job, if its runs are held too
    runs_below: Sequence[UUID] = ()  # and of those that take their fires from it

    def ahead(self, run_ids: Iterable[UUID]) -> list[UUID]:
        since = first_run_id(self.now)
        return [run_id for run_id in run_ids if run_id >= since]


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
    rows = open_rows(cursor, [before.job_id, *below])
    own = [row for row in rows if row[1] == before.job_id]
    LockedRuns(cursor, [row[0] for row in rows], keys=_keys(before, after, own))
    others = [row[0] for row in rows if row[1] != before.job_id]
    return Held(stands, _clock(cursor), [row[0] for row in own], others)


def _keys(before: Job, after: Job, own: Sequence[Row]) -> set[str]:
    """By pool and origin: of the runs that are open, and of those that its schedule writes."""
    ways = {(pool, origin) for _, _, pool, origin in own}
    ways |= {(pool, BY_SCHEDULE) for pool in (*before.pools, *after.pools)}
    return {key.name for job in (before, after) for way in ways for key in slot_keys(job, *way)}


def _lock_schedule(cursor: Cursor[Row], job_id: UUID) -> datetime | None:
    rows = cursor.execute(_SQL["hold_schedule"], {"job_id": job_id}).fetchall()
    return rows[0][0] if rows else None


def _clock(cursor: Cursor[Row]) -> datetime:
    now: datetime = cursor.execute("SELECT clock_timestamp()").fetchall()[0][0]
    return now
