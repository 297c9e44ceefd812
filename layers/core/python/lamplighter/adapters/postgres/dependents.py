"""Blocked runs: judged by what their upstreams say, freed, skipped, or left to wait."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import ints, texts, uuids
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.graph import Graph
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.dependents import (
    UpstreamRun,
    edge_state,
    edges_of,
    in_order,
    ruling,
    upstream_ids,
)
from lamplighter.domain.ids import BY_SCHEDULE, fire_of, first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import EdgeRule, Upstream
from lamplighter.domain.run import Due, Recorded, Run, Settled, stands
from lamplighter.domain.states import RunState
from lamplighter.domain.trigger import Ready, Skip, blocked_until, missing

_SQL = queries("graph")
_LONGEST_WAIT = timedelta(days=8)
_A_MOMENT = timedelta(milliseconds=1)
_FIRST = UUID(int=0)
_LAST = UUID(int=(1 << 128) - 1)


# As many runs are judged in one go, and in one transaction where that may end in between.
_PAGE = 1000


class Judged(msgspec.Struct):
    settled: list[Settled]
    due: list[Due]
    ahead: list[UUID]  # blocked runs that are still to be judged


class PostgresDependents:
    _db: Database

    def awaited(self, jobs: Mapping[UUID, str]) -> set[UUID]:
        return self._db.run(lambda cursor: Graph(cursor).upstreams_among(jobs)) if jobs else set()

    def free_dependents(self, upstream_runs: Sequence[UUID]) -> list[Settled]:
        def work(cursor: Cursor[Row]) -> Judged:
            Graph(cursor).share(upstream_runs)
            return judge_page(cursor, _waiting_for(cursor, upstream_runs))

        judged = self._db.run(work)
        return judged.settled + judge_in_pages(self._db, judged.ahead)


def judge_in_pages(database: Database, run_ids: Sequence[UUID]) -> list[Settled]:
    """Judge these, and whatever that decides, each page in a transaction of its own.

    Where this is cut off, what is left is found by `settle_overdue`, which looks at every blocked
    run whose time has come.
    """
    settled: list[Settled] = []
    while run_ids:
        judged = database.run(partial(_judge_shared, run_ids=run_ids))
        settled += judged.settled
        run_ids = judged.ahead
    return settled


def _judge_shared(cursor: Cursor[Row], run_ids: Sequence[UUID]) -> Judged:
    """Who begins to wait for one of these is seen, or sees what becomes of it."""
    Graph(cursor).share(run_ids[:_PAGE])
    return judge_page(cursor, run_ids)


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
    all_of_them = Judged([], [], [])
    while run_ids:
        judged = judge_page(cursor, run_ids)
        all_of_them.settled += judged.settled
        all_of_them.due += judged.due
        run_ids = judged.ahead
    return all_of_them


def judge_page(cursor: Cursor[Row], run_ids: Sequence[UUID]) -> Judged:
    """Judge the first of these, and those further down that were given with them.

    A chain of skips takes a few statements for a page of it, not for each of its links.
    """
    page, rest = run_ids[:_PAGE], list(run_ids[_PAGE:])
    if not page:
        return Judged([], [], [])
    locked = LockedRuns(cursor, page)
    blocked = _in_order(locked)
    asks = _asks(cursor, locked, blocked)
    after = [changed for run in blocked if (changed := _judge(locked, run, asks[run.run_id]))]
    locked.write()
    skipped = [run for run in after if run.state is RunState.SKIPPED]
    return Judged(
        settled=[stands(run, Recorded.ACCEPTED) for run in after],
        due=[_due(run) for run in after if run.state is RunState.SCHEDULED],
        ahead=list(dict.fromkeys([*rest, *_below(cursor, skipped)])) if skipped else rest,
    )


def _in_order(locked: LockedRuns) -> list[Run]:
    """The blocked ones, upstreams first: each is judged when all that it waits for has been."""
    runs: dict[UUID, list[Run]] = {}
    for run in locked.runs.values():
        if run.state is RunState.BLOCKED:
            runs.setdefault(run.job_id, []).append(run)
    jobs = in_order(locked.jobs[each[0].run_id] for each in runs.values())
    return [run for job in jobs for run in runs[job.job_id]]


def _below(cursor: Cursor[Row], skipped: Sequence[Run]) -> list[UUID]:
    """All that waits for these runs, and some of the same fires that waits for those in turn."""
    direct = _waiting_for(cursor, [run.run_id for run in skipped])
    if not direct:
        return []
    fires = [run.fire_at for run in skipped]
    params = {
        "job_ids": uuids({run.job_id for run in skipped}),
        "first": first_run_id(min(fires)),
        "last": first_run_id(max(fires) + _A_MOMENT),
        "limit": _PAGE,
    }
    rows = cursor.execute(_SQL["blocked_below"], params, binary=True)
    return [*direct, *(row[0] for row in rows)]


def _judge(locked: LockedRuns, run: Run, asks: Sequence["_Ask"]) -> Run | None:
    job, now = locked.jobs[run.run_id], locked.now
    upstreams = [(ask.upstream.name, ask.state(locked)) for ask in asks]
    ruled = ruling(job, run.origin, upstreams)
    if isinstance(ruled, Ready):
        return locked.put(transitions.freed(run, now))
    bound = timedelta(seconds=job.policy.blocked_seconds)
    if not isinstance(ruled, Skip):
        if now < blocked_until(fire=run.fire_at, blocked_at=run.created_at, bound=bound):
            return None
        ruled = missing(upstreams, bound)
    return locked.put(transitions.skipped(run, ruled.reason, now, ruled.text))


def _due(run: Run) -> Due:
    due_at = max(run.due_at, run.wake_at) if run.wake_at is not None else run.due_at
    return Due(run.run_id, run.tenant, run.pool, run.priority, due_at, run.fence)


class _Ask(msgspec.Struct):
    """What one run wants to know of one of its upstreams, and the runs that tell."""

    run: Run
    edge: Upstream
    upstream: Job
    found: list[tuple[UUID, UpstreamRun]] = []

    @property
    def counts(self) -> bool:
        """Beside the schedule, only who was asked for with it has a say."""
        return self.run.origin == BY_SCHEDULE or bool(self.found)

    def state(self, locked: LockedRuns) -> RunState | None:
        """As it stands: a run that waits for others itself may just have been judged."""
        told = [_as_judged(locked.runs.get(run_id), seen) for run_id, seen in self.found]
        return edge_state(self.edge, self.upstream, self.run.fire_at, told)


def _as_judged(run: Run | None, seen: UpstreamRun) -> UpstreamRun:
    return seen if run is None else UpstreamRun(run.fire_at, run.pool, run.state, run.end_time)


def _asks(
    cursor: Cursor[Row], locked: LockedRuns, blocked: Sequence[Run]
) -> dict[UUID, list[_Ask]]:
    """For each blocked run, what it asks of each of its upstreams, in the order of `after`."""
    jobs = {run.run_id: locked.jobs[run.run_id] for run in blocked}
    upstreams = Graph(cursor).jobs({up for job in jobs.values() for up in upstream_ids(job)})
    asks = {
        run.run_id: [
            _Ask(run, edge, upstreams[UUID(edge.job_id)])
            for edge in edges_of(jobs[run.run_id], run.origin)
        ]
        for run in blocked
    }
    _answer(cursor, [ask for each in asks.values() for ask in each])
    return {run_id: [ask for ask in each if ask.counts] for run_id, each in asks.items()}


def _answer(cursor: Cursor[Row], asks: Sequence[_Ask]) -> None:
    for name, by_success in (("upstream_runs", False), ("latest_successes", True)):
        chosen = [
            (n, ask.upstream.job_id, ask.run.origin, *_bounds(ask.run, ask.edge, ask.upstream))
            for n, ask in enumerate(asks)
            if (ask.edge.rule is EdgeRule.LATEST_SUCCESS) is by_success
        ]
        for n, run_id, pool, status, end_time in _ask(cursor, name, chosen):
            seen = UpstreamRun(fire_of(run_id), pool, RunState(status), end_time)
            asks[n].found.append((run_id, seen))


def _ask(
    cursor: Cursor[Row], name: str, asks: Sequence[tuple[int, UUID, str, UUID, UUID]]
) -> list[Row]:
    if not asks:
        return []
    params = {
        "asks": ints(n for n, _, _, _, _ in asks),
        "job_ids": uuids(job_id for _, job_id, _, _, _ in asks),
        "origins": texts(origin for _, _, origin, _, _ in asks),
        "firsts": uuids(first for _, _, _, first, _ in asks),
        "lasts": uuids(last for _, _, _, _, last in asks),
    }
    return cursor.execute(_SQL[name], params, binary=True).fetchall()


def _bounds(run: Run, edge: Upstream, upstream: Job) -> tuple[UUID, UUID]:
    """Between which keys the awaited run of this upstream lies."""
    fire = run.fire_at
    if edge.rule is EdgeRule.LATEST_SUCCESS:
        return _FIRST, first_run_id(fire + _A_MOMENT)
    if run.origin == BY_SCHEDULE and not upstream.repeats:
        return _FIRST, _LAST
    if edge.rule is EdgeRule.NEXT_AFTER:
        return first_run_id(fire + _A_MOMENT), _LAST
    return first_run_id(fire), first_run_id(fire + _A_MOMENT)
