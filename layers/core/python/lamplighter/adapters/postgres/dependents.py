"""Blocked runs: judged by what their upstreams say, freed, skipped, or left to wait."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import ints, uuids
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.dependents import UpstreamRun, edge_state, upstream_ids
from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import EdgeRule, Upstream
from lamplighter.domain.run import Due, Recorded, Run, Settled, stands
from lamplighter.domain.states import RunState
from lamplighter.domain.trigger import Ready, Skip, blocked_until, missing, verdict

_SQL = queries("graph")
_LONGEST_WAIT = timedelta(days=8)
_FIRST = UUID(int=0)
_LAST = UUID(int=(1 << 128) - 1)


class Judged(msgspec.Struct):
    settled: list[Settled]
    due: list[Due]


class PostgresDependents:
    _db: Database

    def awaited(self, jobs: Mapping[UUID, str]) -> set[UUID]:
        return self._db.run(lambda cursor: Graph(cursor).upstreams_among(jobs)) if jobs else set()

    def free_dependents(self, upstream_runs: Sequence[UUID]) -> list[Settled]:
        def work(cursor: Cursor[Row]) -> list[Settled]:
            Graph(cursor).share(upstream_runs)
            return judge_blocked(cursor, _waiting_for(cursor, upstream_runs)).settled

        return self._db.run(work)


def _waiting_for(cursor: Cursor[Row], upstream_runs: Iterable[UUID]) -> list[UUID]:
    """Blocked runs that wait for one of these runs' jobs."""
    ids = list(upstream_runs)
    rows = cursor.execute(_SQL["jobs_of_runs"], {"run_ids": uuids(ids)}, binary=True).fetchall()
    dependents = Graph(cursor).direct_dependents([row[0] for row in rows])
    if not dependents:
        return []
    since = min(rows[0][1] - _LONGEST_WAIT, *(fire_of(run_id) for run_id in ids))
    params = {"job_ids": uuids(dependents), "since": first_run_id(since)}
    return [row[0] for row in cursor.execute(_SQL["blocked_runs"], params, binary=True)]


def tell_dependents(cursor: Cursor[Row], ended: Sequence[UUID]) -> list[Settled]:
    """Judge what waits for runs that have just ended without anybody being told of it."""
    return judge_blocked(cursor, _waiting_for(cursor, ended)).settled if ended else []


def judge_blocked(cursor: Cursor[Row], run_ids: Sequence[UUID]) -> Judged:
    """Judge these, and whatever waits for those that are skipped by it, until nothing changes."""
    judged = Judged([], [])
    while run_ids:
        locked = LockedRuns(cursor, run_ids)
        blocked = [run for run in locked.runs.values() if run.state is RunState.BLOCKED]
        seen = _upstream_states(cursor, locked, blocked)
        after = [changed for run in blocked if (changed := _judge(locked, run, seen[run.run_id]))]
        locked.write()
        judged.settled += [stands(run, Recorded.ACCEPTED) for run in after]
        judged.due += [_due(run) for run in after if run.state is RunState.SCHEDULED]
        skipped = [run.run_id for run in after if run.state is RunState.SKIPPED]
        run_ids = _waiting_for(cursor, skipped) if skipped else []
    return judged


def _judge(
    locked: LockedRuns, run: Run, upstreams: Sequence[tuple[str, RunState | None]]
) -> Run | None:
    policy, now = locked.jobs[run.run_id].policy, locked.now
    ruling = verdict(policy.trigger_rule, upstreams)
    if isinstance(ruling, Ready):
        return locked.put(transitions.freed(run, now))
    bound = timedelta(seconds=policy.blocked_seconds)
    if not isinstance(ruling, Skip):
        if now < blocked_until(fire=run.fire_at, blocked_at=run.created_at, bound=bound):
            return None
        ruling = missing(upstreams, bound)
    return locked.put(transitions.skipped(run, ruling.reason, now, ruling.text))


def _due(run: Run) -> Due:
    due_at = max(run.due_at, run.wake_at) if run.wake_at is not None else run.due_at
    return Due(run.run_id, run.tenant, run.pool, run.priority, due_at, run.fence)


def _upstream_states(
    cursor: Cursor[Row], locked: LockedRuns, blocked: Sequence[Run]
) -> dict[UUID, list[tuple[str, RunState | None]]]:
    """For each blocked run, what each of its upstreams says, in the order of `after`."""
    jobs = [locked.jobs[run.run_id] for run in blocked]
    upstreams = Graph(cursor).jobs({up for job in jobs for up in upstream_ids(job)})
    asks = [
        (run, edge, upstreams[UUID(edge.job_id)])
        for run, job in zip(blocked, jobs, strict=True)
        for edge in job.after
    ]
    found = _upstream_runs(cursor, asks)
    states: dict[UUID, list[tuple[str, RunState | None]]] = {run.run_id: [] for run in blocked}
    for n, (run, edge, upstream) in enumerate(asks):
        state = edge_state(edge, upstream, run.fire_at, found[n])
        states[run.run_id].append((upstream.name, state))
    return states


def _upstream_runs(
    cursor: Cursor[Row], asks: Sequence[tuple[Run, Upstream, Job]]
) -> list[list[UpstreamRun]]:
    found: list[list[UpstreamRun]] = [[] for _ in asks]
    for name, by_success in (("upstream_runs", False), ("latest_successes", True)):
        chosen = [
            (n, upstream.job_id, *_bounds(run.fire_at, edge, upstream))
            for n, (run, edge, upstream) in enumerate(asks)
            if (edge.rule is EdgeRule.LATEST_SUCCESS) is by_success
        ]
        for n, run_id, pool, status, end_time in _ask(cursor, name, chosen):
            found[n].append(UpstreamRun(fire_of(run_id), pool, RunState(status), end_time))
    return found


def _ask(cursor: Cursor[Row], name: str, asks: Sequence[tuple[int, UUID, UUID, UUID]]) -> list[Row]:
    if not asks:
        return []
    params = {
        "asks": ints(n for n, _, _, _ in asks),
        "job_ids": uuids(job_id for _, job_id, _, _ in asks),
        "firsts": uuids(first for _, _, first, _ in asks),
        "lasts": uuids(last for _, _, _, last in asks),
    }
    return cursor.execute(_SQL[name], params, binary=True).fetchall()


def _bounds(fire: datetime, edge: Upstream, upstream: Job) -> tuple[UUID, UUID]:
    """Between which keys the awaited run of this upstream lies."""
    a_moment = timedelta(milliseconds=1)
    if edge.rule is EdgeRule.LATEST_SUCCESS:
        return _FIRST, first_run_id(fire + a_moment)
    if not upstream.repeats:
        return _FIRST, _LAST
    if edge.rule is EdgeRule.NEXT_AFTER:
        return first_run_id(fire + a_moment), _LAST
    return first_run_id(fire), first_run_id(fire + a_moment)
