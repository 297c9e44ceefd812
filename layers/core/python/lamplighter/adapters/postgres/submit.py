"""Submissions: jobs, edges and first runs in one transaction, all or nothing."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from psycopg import Cursor
from psycopg.errors import UniqueViolation

from lamplighter.adapters.postgres.arrays import instants, texts, uuids
from lamplighter.adapters.postgres.codec import (
    is_ordered,
    jobs_to_columns,
    new_runs_to_columns,
    queue_places,
    row_to_due,
)
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.dependents import Judged, judge_blocked
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.partitions import day_of, ensure_days
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.dependents import (
    SeenUpstream,
    cascaded_runs,
    runs_of_dependents,
    upstream_ids,
)
from lamplighter.domain.errors import IdempotencyConflict, JobEnded, JobNotFound
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.job import Job, JobStatus, rejected
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import TELL_AGAIN, Accepted, Due, NewRun, Submission, new_runs
from lamplighter.domain.slots import lane_of
from lamplighter.domain.states import RunState

_SQL = queries("submit")
# The same without asking which jobs are known: most have a fresh id, and where one has not, the
# statement fails as a whole and is asked again with care.
_INSERT_FRESH = (
    _SQL["insert_jobs"]
    .replace(b"ON CONFLICT (job_id) DO NOTHING\n    RETURNING job_id", b"")
    .replace(b"job_id IN (SELECT job_id FROM new_jobs)", b"true")
    .replace(b"(SELECT array_agg(job_id) FROM new_jobs)", b"NULL::uuid[]")
)
_READS = queries("reads")
_RUNS = queries("runs")
_SLOTS = queries("slots")


class PostgresSubmissions:
    _db: Database

    def submit(self, submissions: Sequence[Submission]) -> Accepted:
        distinct = _distinct(submissions)
        if any(each.fingerprint or each.job.after or is_ordered(each.job) for each in distinct):
            return self._db.run(lambda cursor: _submit_checked(cursor, distinct))
        runs = _first_runs(distinct)
        try:
            rows = self._db.statement(_INSERT_FRESH, _columns(distinct, runs))
        except UniqueViolation:
            return self._db.run(lambda cursor: _submit_checked(cursor, distinct))
        created = frozenset(each.job.job_id for each in distinct)
        return _accepted(created, _written(runs, rows[0]))

    def reject(self, submissions: Sequence[Submission], reason: str) -> frozenset[UUID]:
        refused = [
            Submission(rejected(each.job, reason), fingerprint=each.fingerprint)
            for each in _distinct(submissions)
        ]
        return self._db.run(lambda cursor: _reject(cursor, refused))

    def add_run(
        self, tenant: str, job_id: UUID, origin: str, fire: datetime, *, cascade: bool = False
    ) -> list[Due]:
        def work(cursor: Cursor[Row]) -> list[Due]:
            if cascade:
                Graph(cursor).keep(tenant)
            return _add_runs(cursor, tenant, job_id, origin, [fire], cascade=cascade)

        return self._db.run(work)

    def add_runs(
        self, tenant: str, job_id: UUID, origin: str, fires: Sequence[datetime]
    ) -> list[Due]:
        # Each in a transaction of its own: a year of them is a thousand tables and indexes.
        for day in sorted({day_of(fire) for fire in fires})[1:]:
            self._db.run(partial(ensure_days, fires=[day]))

        return self._db.run(lambda cursor: _add_runs(cursor, tenant, job_id, origin, fires))


def _distinct(submissions: Sequence[Submission]) -> list[Submission]:
    """Each job once; the same id for two different bodies is refused."""
    by_id: dict[int, Submission] = {}
    for each in submissions:
        first = by_id.setdefault(each.job.job_id.int, each)
        if first is not each and first.fingerprint != each.fingerprint:
            raise IdempotencyConflict(IdempotencyConflict.__doc__)
    # In the order of their keys: neighbours land on the same index page, one after the other.
    return [by_id[key] for key in sorted(by_id)]


def _first_runs(submissions: Sequence[Submission]) -> list[NewRun]:
    return [
        run
        for each in submissions
        if each.first_fire is not None
        for run in new_runs(each.job, each.first_fire, blocked=bool(each.job.after))
    ]


def _columns(submissions: Sequence[Submission], runs: Sequence[NewRun]) -> dict[str, Any]:
    jobs = [each.job for each in submissions]
    # A one-off has a schedule only beyond the ledger's days, and only the statement knows those.
    timed = [each for each in submissions if each.next_fire is not None]
    return {
        **jobs_to_columns(jobs, [each.fingerprint for each in submissions]),
        **new_runs_to_columns(runs),
        "schedule_job_ids": uuids(each.job.job_id for each in timed),
        "schedule_tenants": texts(each.job.tenant for each in timed),
        "first_fires": instants(each.first_fire for each in timed),
        "next_fires": instants(each.next_fire for each in timed),
    }


def _accepted(created: frozenset[UUID], written: Sequence[NewRun]) -> Accepted:
    """The jobs that are new, and their runs that wait for nothing but their time."""
    first = [run for run in written if run.state is RunState.SCHEDULED]
    return Accepted(created, [run.as_due() for run in first], first)


def _written(runs: Sequence[NewRun], row: Row) -> list[NewRun]:
    """Those whose day is ready; the others stay in the schedule."""
    ready_from, ready_to = row[1:]
    return [run for run in runs if ready_from <= run.fire_at < ready_to]


def _submit_checked(cursor: Cursor[Row], submissions: Sequence[Submission]) -> Accepted:
    submissions = _admit(cursor, submissions)
    runs = _first_runs(submissions)
    columns = _columns(submissions, runs)
    row = cursor.execute(_SQL["insert_jobs"], columns, binary=True).fetchall()[0]
    created = frozenset(row[0] or ())
    known = [each for each in submissions if each.job.job_id not in created]
    if known:
        _check_fingerprints(cursor, known)
    fresh = [each for each in submissions if each.job.job_id in created]
    Graph(cursor).insert_edges(each.job for each in fresh)
    written = [run for run in _written(runs, row) if run.job.job_id in created]
    join_queues(cursor, written)
    judged = _block_dependents(cursor, fresh, written)
    waiting = _waiting_runs(cursor, known) if known else []
    accepted = _accepted(created, written)
    return Accepted(created, accepted.runs + judged.due + waiting, accepted.first, judged.settled)


def _reject(cursor: Cursor[Row], refused: Sequence[Submission]) -> frozenset[UUID]:
    columns = _columns(refused, [])
    [row] = cursor.execute(_SQL["insert_jobs"], columns, binary=True).fetchall()
    kept = frozenset(row[0] or ())
    cursor.execute(_SQL["reject_jobs"], {"job_ids": uuids(kept)})
    return kept


def _admit(cursor: Cursor[Row], submissions: Sequence[Submission]) -> list[Submission]:
    """Where there are edges, check them, and bring upstreams before their dependents.

    Not those of jobs that are there already: an upstream may have been cancelled since.
    """
    by_id = {each.job.job_id: each for each in submissions}
    tenants = sorted({each.job.tenant for each in submissions if each.job.after})
    known = {row[0] for row in _fingerprints(cursor, by_id)} if tenants else set()
    admitted: dict[UUID, Job] = {}
    for tenant in tenants:
        theirs = (each.job for each in submissions if each.job.tenant == tenant)
        jobs = [job for job in theirs if job.job_id not in known]
        admitted |= {job.job_id: job for job in Graph(cursor).admit(tenant, jobs)}
    order = [*admitted, *(job_id for job_id in by_id if job_id not in admitted)]
    return [
        Submission(
            admitted.get(job_id, by_id[job_id].job),
            by_id[job_id].first_fire,
            by_id[job_id].next_fire,
            by_id[job_id].fingerprint,
        )
        for job_id in order
    ]


def _check_fingerprints(cursor: Cursor[Row], again: Sequence[Submission]) -> None:
    asked = {each.job.job_id: each for each in again}
    for job_id, tenant, known in _fingerprints(cursor, asked):
        if known != asked[job_id].fingerprint or tenant != asked[job_id].job.tenant:
            raise IdempotencyConflict(IdempotencyConflict.__doc__)


def _fingerprints(cursor: Cursor[Row], job_ids: Iterable[UUID]) -> list[Row]:
    """Of those that are known."""
    params = {"job_ids": uuids(job_ids)}
    return cursor.execute(_SQL["fingerprints"], params, binary=True).fetchall()


def _waiting_runs(cursor: Cursor[Row], known: Sequence[Submission]) -> list[Due]:
    [(now,)] = cursor.execute(_READS["now"]).fetchall()
    params = {
        "job_ids": uuids(each.job.job_id for each in known),
        "first": first_run_id(now - TELL_AGAIN),
        "last": first_run_id(now + TELL_AGAIN),
    }
    rows = cursor.execute(_SQL["waiting_runs"], params, binary=True).fetchall()
    return [row_to_due(row) for row in rows]


def join_queues(cursor: Cursor[Row], runs: Sequence[NewRun]) -> None:
    places = queue_places(runs)
    if places is not None:
        cursor.execute(_SLOTS["join_queue"], places)


def insert_runs(cursor: Cursor[Row], runs: Sequence[NewRun]) -> set[UUID]:
    if not runs:
        return set()
    rows = cursor.execute(_RUNS["insert_runs"], new_runs_to_columns(runs), binary=True).fetchall()
    written = {row[0] for row in rows}
    join_queues(cursor, [run for run in runs if run.run_id in written])
    return written


def _block_dependents(
    cursor: Cursor[Row],
    fresh: Sequence[Submission],
    written: Sequence[NewRun],
) -> Judged:
    """Blocked runs for the new jobs without a schedule; those whose upstreams are done go free."""
    waiting = [each.job for each in fresh if each.job.schedule.schedule_type is ScheduleType.AFTER]
    own = [run for run in written if run.state is RunState.BLOCKED]
    if not waiting and not own:
        return Judged([], [], [])
    now: datetime = cursor.execute("SELECT clock_timestamp()").fetchall()[0][0]
    names = {up for job in waiting for up in upstream_ids(job)} - {job.job_id for job in waiting}
    seen: dict[UUID, SeenUpstream] = Graph(cursor).seen(names, now)
    blocked = [
        run
        for job, fire in runs_of_dependents(waiting, seen)
        for run in new_runs(job, fire, blocked=True)
    ]
    insert_runs(cursor, blocked)
    return judge_blocked(cursor, [run.run_id for run in [*blocked, *own]])


def _add_runs(  # noqa: PLR0913 - as the port has it
    cursor: Cursor[Row],
    tenant: str,
    job_id: UUID,
    origin: str,
    fires: Sequence[datetime],
    *,
    cascade: bool = False,
) -> list[Due]:
    job = Graph(cursor).kept(job_id)
    if job is None or job.tenant != tenant:
        raise JobNotFound(f"no job {job_id}")
    if job.status >= JobStatus.CANCELLED:
        raise JobEnded(JobEnded.__doc__)
    # After the job, as an edit does it: the other way round, the two would wait for each other.
    ensure_days(cursor, fires)
    runs = [run for fire in fires for run in new_runs(job, fire, origin=origin)]
    # Those that follow are written with it or not at all: asked again, it leads nobody else on.
    if insert_runs(cursor, runs) and cascade:
        below = Graph(cursor).kept_below(job_id)
        insert_runs(cursor, cascaded_runs(job_id, below, origin, fires))
    if (lane := lane_of(job, origin)) is not None:
        LockedRuns(cursor, [], keys={lane.name}).hand_on({lane.name}, depth=lane.limit)
    ids = sorted(run.run_id for run in runs)
    if not ids:
        return []
    params = {"run_ids": uuids(ids), "first": ids[0], "last": ids[-1]}
    return [row_to_due(row) for row in cursor.execute(_SQL["still_due"], params, binary=True)]
