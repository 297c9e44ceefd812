"""Changed minds: cancel, pause, resume, reschedule. One transaction each."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from psycopg import Cursor
from psycopg.types.json import Jsonb

from lamplighter.adapters.postgres.calendars import calendars_of
from lamplighter.adapters.postgres.codec import jobs_to_columns, row_to_job
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.dependents import tell_dependents
from lamplighter.adapters.postgres.futures import (
    forget_future,
    forget_own_future,
    settle_past,
    write_first_runs,
)
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.holding import hold, hold_schedule
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.open_runs import open_runs
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.dependents import follow, upstream_ids
from lamplighter.domain.errors import InvalidJob, JobEnded, JobNotFound, VersionConflict
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.lag import Ahead, Edit
from lamplighter.domain.run import Recorded, Run, Settled, stands
from lamplighter.domain.slots import slot_keys
from lamplighter.domain.states import RunState

_SQL = queries("change")
_WITH_WORKER = (RunState.RUNNING, RunState.CANCELLING)


class PostgresChanges:
    _db: Database

    def cancel_runs(self, tenant: str, run_ids: Sequence[UUID]) -> list[Settled]:
        def work(cursor: Cursor[Row]) -> list[Settled]:
            locked = LockedRuns(cursor, run_ids)
            settled = [_cancel_one(locked, tenant, run_id) for run_id in run_ids]
            locked.write()
            return settled

        return self._db.run(work)

    def cancel_job(self, tenant: str, job_id: UUID) -> Job:
        return self._db.run(lambda cursor: _cancel_job(cursor, tenant, job_id))

    def pause(self, tenant: str, job_id: UUID) -> Job:
        return self._db.run(lambda cursor: _set(cursor, tenant, job_id, JobStatus.PAUSED))

    def resume(self, tenant: str, job_id: UUID) -> Job:
        return self._db.run(lambda cursor: _set(cursor, tenant, job_id, JobStatus.SCHEDULED))

    def reschedule(
        self,
        job: Job,
        *,
        expected_version: int,
        first_fire: datetime | None,
        next_fire: datetime | None,
    ) -> Job:
        change = _Change(job, expected_version, Ahead(first_fire, next_fire))
        try:
            return self._db.run(change.alone)
        except _HasEdges:
            return self._db.run(change.in_graph)


class _HasEdges(Exception):
    """Others wait for the job, or it waits for them: their definitions must keep still too."""


class _Change(msgspec.Struct, frozen=True):
    job: Job
    expected_version: int
    given: Ahead

    def alone(self, cursor: Cursor[Row]) -> Job:
        """Of a job without edges, as most are: beside any other such change."""
        Graph(cursor).keep(self.job.tenant)
        before = self._before(cursor)
        if before.after or self.job.after or Graph(cursor).direct_dependents([before.job_id]):
            raise _HasEdges
        return self._write(cursor, before)

    def in_graph(self, cursor: Cursor[Row]) -> Job:
        """One at a time: two that are right alone could be wrong together."""
        Graph(cursor).lock(self.job.tenant)
        return self._write(cursor, self._before(cursor))

    def _before(self, cursor: Cursor[Row]) -> Job:
        before = _lock(cursor, self.job.tenant, self.job.job_id)
        if before.status >= JobStatus.CANCELLED:
            raise JobEnded(JobEnded.__doc__)
        if before.version != self.expected_version:
            raise VersionConflict(VersionConflict.__doc__)
        return before

    def _write(self, cursor: Cursor[Row], before: Job) -> Job:
        after = _admit_change(cursor, before, self.job)
        held = hold(cursor, before, after)
        past = settle_past(cursor, before, held)
        edit = Edit(before.schedule, after.schedule, past, self.given)
        ahead = edit.ahead(held.now, calendars_of(cursor, after))
        _replace(cursor, before, after)
        forget_future(cursor, after.job_id, held)
        write_first_runs(cursor, after, ahead, before.version + 1)
        _rekey(cursor, before, after)
        return _lock(cursor, after.tenant, after.job_id)


def _lock(cursor: Cursor[Row], tenant: str, job_id: UUID) -> Job:
    params = {"tenant": tenant, "job_id": job_id}
    rows = cursor.execute(_SQL["lock_job"], params, binary=True).fetchall()
    if not rows:
        raise JobNotFound(f"no job {job_id}")
    return row_to_job(rows[0])


def _cancel_one(locked: LockedRuns, tenant: str, run_id: UUID) -> Settled:
    run = locked.runs.get(run_id)
    if run is None or run.tenant != tenant:
        return Settled(run_id, None, Recorded.STALE, None)
    if run.state.is_final or run.state is RunState.CANCELLING:
        return stands(run, Recorded.REPEATED)
    return stands(locked.put(_cancelled(run, locked.now)), Recorded.ACCEPTED)


def _cancelled(run: Run, now: datetime) -> Run:
    if run.state is RunState.RUNNING:
        return transitions.cancelling(run, now)
    return transitions.cancelled(run, now)


def _archive(cursor: Cursor[Row], before: Job) -> None:
    document = Jsonb(msgspec.to_builtins(before))
    cursor.execute(_SQL["archive_job"], {"job_id": before.job_id, "job": document})


def _set(cursor: Cursor[Row], tenant: str, job_id: UUID, status: JobStatus) -> Job:
    before = _lock(cursor, tenant, job_id)
    if before.status >= JobStatus.CANCELLED:
        raise JobEnded(JobEnded.__doc__)
    if before.status is status:
        return before
    past = settle_past(cursor, before, hold_schedule(cursor, job_id))
    _archive(cursor, before)
    cursor.execute(_SQL["set_status"], {"job_id": job_id, "status": int(status)})
    params = {"job_id": job_id, "version": before.version + 1}
    if past is None:
        cursor.execute(_SQL["follow_version"], params)
    elif past.next_fire_at is None:
        cursor.execute(_SQL["delete_schedule"], params)
    else:
        given = params | {"tenant": tenant, "next_fire_at": past.next_fire_at}
        cursor.execute(_SQL["insert_schedule"], given)
    return _lock(cursor, tenant, job_id)


def _cancel_job(cursor: Cursor[Row], tenant: str, job_id: UUID) -> Job:
    before = _lock(cursor, tenant, job_id)
    if before.status >= JobStatus.CANCELLED:
        return before
    held = hold(cursor, before, before)
    settle_past(cursor, before, held)
    _archive(cursor, before)
    forget_own_future(cursor, job_id, held)
    left = open_runs(cursor, job_id)
    locked = LockedRuns(cursor, left)
    for run_id in left:
        _cancel_one(locked, tenant, run_id)
    locked.write()
    # Its time is read when every open run is locked: no start that it allows is later than it.
    cursor.execute(_SQL["set_status"], {"job_id": job_id, "status": int(JobStatus.CANCELLED)})
    tell_dependents(cursor, left)
    return _lock(cursor, tenant, job_id)


def _admit_change(cursor: Cursor[Row], before: Job, job: Job) -> Job:
    """The new definition, if the graph bears it: no cycle, dependents still find their fires."""
    graph = Graph(cursor)
    dependents = graph.direct_dependents([job.job_id])
    if job.after != before.after:
        [after] = graph.admit(job.tenant, [job])
    else:
        upstreams = graph.jobs(upstream_ids(job))
        after = follow(job, [upstreams[up] for up in upstream_ids(job)])
    if dependents and after.repeats is not before.repeats:
        raise InvalidJob(
            "schedule_type", "other jobs wait for this one; it cannot change between once and often"
        )
    names = {up for dependent in dependents.values() for up in upstream_ids(dependent)}
    others = graph.jobs(names) | {after.job_id: after}
    for dependent in dependents.values():
        follow(dependent, [others[up] for up in upstream_ids(dependent)])
    return after


def _replace(cursor: Cursor[Row], before: Job, after: Job) -> None:
    _archive(cursor, before)
    columns = jobs_to_columns([after], [None])
    del columns["fingerprints"]
    cursor.execute(_SQL["replace_job"], columns)
    if after.after != before.after:
        graph = Graph(cursor)
        graph.delete_edges(after.job_id)
        graph.insert_edges([after])


def _rekey(cursor: Cursor[Row], before: Job, after: Job) -> None:
    """Other keys or limits: whoever waits does so by the new ones, from now on."""
    if before.pools == after.pools and all(
        slot_keys(before, pool) == slot_keys(after, pool) for pool in after.pools
    ):
        return
    due = set(open_runs(cursor, after.job_id))
    locked = LockedRuns(cursor, due, to_claim=True)
    waiting = [locked.runs[run_id] for run_id in sorted(due & locked.runs.keys())]
    locked.rekey([run for run in waiting if run.state not in _WITH_WORKER])
