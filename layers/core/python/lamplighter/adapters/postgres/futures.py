"""A job's future in the ledger: taken away, written anew, passed on to dependents."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import uuids
from lamplighter.adapters.postgres.calendars import calendars_of
from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.dependents import judge_blocked
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.holding import Held
from lamplighter.adapters.postgres.keys import Keys
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.missed import insert_missed
from lamplighter.adapters.postgres.open_runs import open_runs
from lamplighter.adapters.postgres.partitions import ensure_days
from lamplighter.adapters.postgres.queries import queries
from lamplighter.adapters.postgres.submit import insert_runs
from lamplighter.domain.dependents import runs_of_dependents, upstream_ids
from lamplighter.domain.ids import BY_SCHEDULE, first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.lag import Ahead, lag_of
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import NewRun, Run, new_runs
from lamplighter.domain.schedule import Settlement
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Missed

_SQL = queries("change")
_NOT_YET = (RunState.SCHEDULED, RunState.BLOCKED)
_OPEN_SINCE = timedelta(days=8)


def settle_past(cursor: Cursor[Row], job: Job, held: Held) -> Settlement | None:
    """Tell of the fires that nobody planned in time, before the schedule changes that had them.

    None: there were none.
    """
    if held.stands is None or held.stands > held.now:
        return None
    lag = lag_of(job, held.stands, held.now, calendars_of(cursor, job))
    past = lag.settled
    ensure_days(cursor, {*past.run, *(gap.from_fire for gap in past.missed)})
    runs = [run for fire in past.run for run in new_runs(job, fire, blocked=bool(job.after))]
    insert_runs(cursor, runs)
    gaps = [Missed(gap.from_fire, gap.to_fire, gap.count, lag.reason) for gap in past.missed]
    insert_missed(cursor, [(job, gap) for gap in gaps])
    waiting = [run for run in runs if run.state is RunState.BLOCKED]
    waiting += block_dependents(cursor, [job.job_id])
    judge_blocked(cursor, [run.run_id for run in waiting])
    return past


def forget_future(cursor: Cursor[Row], job_id: UUID, held: Held) -> None:
    """Remove the schedule and the runs ahead, the job's own and those it gave to others."""
    cursor.execute(_SQL["delete_schedule"], {"job_id": job_id})
    locked = LockedRuns(cursor, held.ahead([*held.own_runs, *held.runs_below]))
    _delete(cursor, [run for run in locked.runs.values() if _may_go(run, held.now)], locked)


def forget_own_future(cursor: Cursor[Row], job_id: UUID, held: Held) -> None:
    """Remove the schedule and the job's runs ahead, but for those that others wait for.

    They stay, to be cancelled: whoever waits must learn that they will not come.
    """
    cursor.execute(_SQL["delete_schedule"], {"job_id": job_id})
    params = {"job_id": job_id, "since": first_run_id(held.now)}
    params["open_since"] = first_run_id(held.now - _OPEN_SINCE)
    awaited = {row[0] for row in cursor.execute(_SQL["awaited_runs"], params, binary=True)}
    locked = LockedRuns(cursor, held.ahead(held.own_runs))
    going = [run for run in locked.runs.values() if _may_go(run, held.now)]
    _delete(cursor, [run for run in going if run.run_id not in awaited], locked)


def _may_go(run: Run, now: datetime) -> bool:
    never_started = run.state in _NOT_YET and run.start_time is None
    return never_started and run.origin == BY_SCHEDULE and run.fire_at > now


def _delete(cursor: Cursor[Row], runs: Sequence[Run], locked: LockedRuns) -> None:
    if not runs:
        return
    ids = sorted(run.run_id for run in runs)
    left = Keys(cursor).leave({run_id: frozenset() for run_id in ids})
    params = {"run_ids": uuids(ids), "first": ids[0], "last": ids[-1]}
    cursor.execute(_SQL["delete_runs"], params)
    locked.hand_on(left)


def write_first_runs(cursor: Cursor[Row], job: Job, ahead: Ahead, version: int) -> None:
    """What a submission would have written for this job: its first runs, or its place in line."""
    ready_from, ready_to = cursor.execute(_SQL["ready_days"]).fetchall()[0]
    first_fire, next_fire_at = ahead.first_fire, ahead.next_fire
    if first_fire is not None and ready_from <= first_fire < ready_to:
        insert_runs(cursor, new_runs(job, first_fire, blocked=bool(job.after)))
    elif first_fire is not None:
        next_fire_at = first_fire
    if next_fire_at is not None:
        params = {"job_id": job.job_id, "tenant": job.tenant, "version": version}
        cursor.execute(_SQL["insert_schedule"], params | {"next_fire_at": next_fire_at})
    blocked = block_dependents(cursor, [job.job_id], itself=job)
    # What is due stays, and may wait for somebody else by now, or for nobody.
    due = open_runs(cursor, job.job_id)
    judge_blocked(cursor, [*due, *(run.run_id for run in blocked)])


def block_dependents(
    cursor: Cursor[Row], job_ids: Iterable[UUID], itself: Job | None = None
) -> list[NewRun]:
    """Blocked runs for everything that takes its fires from these jobs, directly or not."""
    graph = Graph(cursor)
    waiting = graph.dependents_below(list(job_ids))
    if itself is not None and itself.schedule.schedule_type is ScheduleType.AFTER:
        waiting = [itself, *waiting]
    if not waiting:
        return []
    now: datetime = cursor.execute("SELECT clock_timestamp()").fetchall()[0][0]
    names = {up for job in waiting for up in upstream_ids(job)} | {job.job_id for job in waiting}
    seen = graph.seen(names, now)
    blocked = [
        run
        for job, fire in runs_of_dependents(waiting, seen)
        for run in new_runs(job, fire, blocked=True)
    ]
    written = insert_runs(cursor, blocked)
    return [run for run in blocked if run.run_id in written]
