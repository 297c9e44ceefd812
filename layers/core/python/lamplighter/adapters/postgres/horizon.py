"""The watcher's side of the ledger: plan, page, wake, and the watermark behind it all."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import instants, ints, uuids
from lamplighter.adapters.postgres.codec import row_to_due, row_to_job
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.dependents import judge_blocked
from lamplighter.adapters.postgres.futures import block_dependents
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.leases import hold_lease
from lamplighter.adapters.postgres.missed import insert_missed
from lamplighter.adapters.postgres.partitions import ensure_days
from lamplighter.adapters.postgres.queries import queries
from lamplighter.adapters.postgres.submit import insert_runs
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.run import Due, new_runs
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Agenda, DueSchedule, Lease, Planned
from lamplighter.ports.ledger import Cursor as LoadCursor

_SQL = queries("horizon")
_WOKEN_AT_ONCE = 5_000
_LOOKED_AT = 1_000


class PostgresHorizon:
    _db: Database

    def agenda(self) -> Agenda:
        return Agenda(*self._db.statement(_SQL["agenda"], {})[0])

    def due_schedules(self, until: datetime, limit: int) -> list[DueSchedule]:
        rows = self._db.statement(_SQL["due_schedules"], {"until": until, "limit": limit})
        return [DueSchedule(row_to_job(row[1:]), row[0]) for row in rows]

    def plan(self, lease: Lease, planned: Sequence[Planned]) -> list[Due]:
        days = {fire for each in planned for fire in each.fires}
        days |= {missed.first for each in planned for missed in each.missed}

        def work(cursor: Cursor[Row]) -> list[Due]:
            ensure_days(cursor, days)
            return _plan(cursor, lease, planned)

        return self._db.run(work)

    def page(self, after: UUID, until: datetime, limit: int) -> list[Due]:
        params = {"after": after, "until": first_run_id(until), "limit": limit}
        return [row_to_due(row) for row in self._db.statement(_SQL["page"], params)]

    def unclaimed(self, until: datetime) -> Due | None:
        params = {"until": until, "limit": _LOOKED_AT}
        rows = self._db.statement(_SQL["unclaimed"], params)
        return row_to_due(rows[0]) if rows else None

    def busy_pools(self, pools: Collection[str]) -> set[str]:
        rows = self._db.statement(_SQL["busy_pools"], {"pools": list(pools)})
        return {pool for (pool,) in rows}

    def wake(self, until: datetime, limit: int) -> list[Due]:
        def work(cursor: Cursor[Row]) -> list[Row]:
            # Any day may have a call, so every plan spans them all: made once, it is a tenth.
            cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            params = {"until": until, "limit": limit}
            return cursor.execute(_SQL["wake"], params, prepare=True, binary=True).fetchall()

        rows = self._db.run(work)
        return sorted((row_to_due(row) for row in rows), key=lambda due: due.due_at)

    def cursor(self) -> LoadCursor:
        return LoadCursor(*self._db.statement(_SQL["cursor"], {})[0])

    def move_cursor(self, lease: Lease, loaded_to: datetime) -> None:
        def work(cursor: Cursor[Row]) -> None:
            hold_lease(cursor, lease)
            cursor.execute(_SQL["move_cursor"], {"loaded_to": loaded_to})

        self._db.run(work)

    def advance_watermark(self, lease: Lease, to: datetime) -> LoadCursor:
        while self._db.run(lambda cursor: _pass_candidate(cursor, lease)):
            pass
        self._db.statement(_SQL["set_candidate"], {"to": to})
        while self._db.run(lambda cursor: _pass_candidate(cursor, lease)):
            pass
        return self.cursor()


def _pass_candidate(cursor: Cursor[Row], lease: Lease) -> bool:
    """Wake a page of what is left behind; when nothing is, the watermark passes. True: go on."""
    hold_lease(cursor, lease)
    rows = cursor.execute(_SQL["passable"]).fetchall()
    if not rows:
        return False
    watermark, candidate = rows[0]
    params = {"from": first_run_id(watermark), "to": first_run_id(candidate)}
    woken = cursor.execute(_SQL["wake_unclaimed"], params | {"limit": _WOKEN_AT_ONCE}).fetchall()
    if not woken:
        cursor.execute(_SQL["pass_candidate"])
    return bool(woken)


def _plan(cursor: Cursor[Row], lease: Lease, planned: Sequence[Planned]) -> list[Due]:
    hold_lease(cursor, lease)
    planned = _in_graphs_that_keep_still(cursor, planned)
    rows = cursor.execute(_SQL["move_schedules"], _moves(planned), binary=True).fetchall()
    moved = {row[0] for row in rows}
    counted = [each for each in planned if each.job.job_id in moved]
    runs = [
        run
        for each in counted
        for fire in each.fires
        for run in new_runs(each.job, fire, blocked=bool(each.job.after))
    ]
    written = insert_runs(cursor, runs)
    insert_missed(cursor, [(each.job, gap) for each in counted for gap in each.missed])
    fresh = [run for run in runs if run.run_id in written]
    due = [run.as_due() for run in fresh if run.state is RunState.SCHEDULED]
    waiting = [run for run in fresh if run.state is RunState.BLOCKED]
    waiting += block_dependents(cursor, moved)
    # Some upstreams have ended before: nothing will happen to them that could free these later.
    return due + judge_blocked(cursor, [run.run_id for run in waiting]).due


def _in_graphs_that_keep_still(cursor: Cursor[Row], planned: Sequence[Planned]) -> list[Planned]:
    """Whoever is just becoming a dependent sees all runs of its upstreams, or is seen with them.

    A graph to which somebody adds edges is planned at the next look, which is minutes ahead.
    """
    busy = Graph(cursor).busy({each.job.tenant for each in planned})
    return [each for each in planned if each.job.tenant not in busy]


def _moves(planned: Sequence[Planned]) -> dict[str, Any]:
    return {
        "job_ids": uuids(each.job.job_id for each in planned),
        "seen_fires": instants(each.seen_fire for each in planned),
        "versions": ints(each.version for each in planned),
        "next_fires": instants(each.next_fire_at for each in planned),
    }
