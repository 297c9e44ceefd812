"""Blocked runs: where upstreams' fires lead to, and what becomes of them as upstreams end."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.runs import put, remove, write_down
from lamplighter.domain import transitions
from lamplighter.domain.dependents import (
    SeenUpstream,
    UpstreamRun,
    blocked_fires,
    edge_state,
    edges_of,
    in_order,
    ruling,
    runs_of_dependents,
    upstream_ids,
)
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import EdgeRule, ScheduleType, Upstream
from lamplighter.domain.run import Run, new_runs
from lamplighter.domain.states import RunState
from lamplighter.domain.trigger import Ready, Seen, Wait, blocked_until, missing


def dependents(books: Books, job_id: UUID) -> list[Job]:
    """The jobs that wait for this one, without those that were cancelled."""
    jobs = (books.jobs[each] for each in sorted(books.dependents_of[job_id]))
    return [job for job in jobs if job.status is not JobStatus.CANCELLED]


def followers(books: Books, roots: Iterable[UUID]) -> list[Job]:
    """Jobs without a schedule of their own that get their fires from these, upstreams first."""
    found: dict[UUID, Job] = {}
    ahead = list(roots)
    while ahead:
        below = [
            job
            for job in dependents(books, ahead.pop())
            if job.schedule.schedule_type is ScheduleType.AFTER and job.job_id not in found
        ]
        found |= {job.job_id: job for job in below}
        ahead += [job.job_id for job in below]
    return in_order(found.values())


def block(books: Books, jobs: Sequence[Job]) -> list[Run]:
    """Write the blocked runs of these jobs, at every fire that their upstreams have or await."""
    seen = {up: _seen(books, books.jobs[up]) for job in jobs for up in upstream_ids(job)}
    pairs = runs_of_dependents(jobs, seen)
    return write_down(
        books, [run for job, fire in pairs for run in new_runs(job, fire, blocked=True)]
    )


def drop_orphans(books: Books, jobs: Sequence[Job]) -> None:
    """Take out the coming runs of these jobs for which no upstream has a fire any more."""
    for job in jobs:
        seen = [_seen(books, books.jobs[up]) for up in upstream_ids(job)]
        fires = set(blocked_fires(seen))
        for run in books.runs_of_job(job.job_id):
            waits = run.state is RunState.BLOCKED and run.fire_at > books.now
            if waits and run.origin == BY_SCHEDULE and run.fire_at not in fires:
                remove(books, run)


def _seen(books: Books, job: Job) -> SeenUpstream:
    fires = frozenset(
        run.fire_at
        for run in _of(books, job, BY_SCHEDULE)
        if not job.repeats or not run.state.is_final or run.fire_at > books.now
    )
    return SeenUpstream(job, fires)


def _of(books: Books, job: Job, origin: str) -> list[Run]:
    return [run for run in books.runs_of_job(job.job_id) if run.origin == origin]


def waiting_for(books: Books, run: Run) -> list[UUID]:
    """Every blocked run of the jobs that wait for this run's: its end may decide them."""
    return [
        blocked.run_id
        for job in dependents(books, run.job_id)
        for blocked in books.runs_of_job(job.job_id)
        if blocked.state is RunState.BLOCKED
    ]


def is_awaited(books: Books, run: Run) -> bool:
    """Whether a blocked run waits for this very run."""
    upstream = books.jobs[run.job_id]
    return any(
        books.runs[blocked].fire_at == run.fire_at or not _fire_by_fire(books, blocked, upstream)
        for blocked in waiting_for(books, run)
    )


def _fire_by_fire(books: Books, blocked: UUID, upstream: Job) -> bool:
    after = books.jobs[books.runs[blocked].job_id].after
    rules = {UUID(edge.job_id): edge.rule for edge in after}
    return upstream.repeats and rules[upstream.job_id] is EdgeRule.SAME_FIRE


def judge_blocked(books: Books, run_ids: Iterable[UUID]) -> list[Run]:
    """Free or end those that can be decided; whoever ends may decide others, near and far."""
    ahead = deque(run_ids)
    changed: list[Run] = []
    while ahead:
        run = books.runs[ahead.popleft()]
        after = _judged(books, run) if run.state is RunState.BLOCKED else None
        if after is None:
            continue
        changed.append(put(books, after))
        if after.state.is_final:
            ahead += waiting_for(books, after)
    return changed


def _judged(books: Books, run: Run) -> Run | None:
    job = books.jobs[run.job_id]
    said = [seen for edge in edges_of(job, run.origin) if (seen := _said(books, edge, run))]
    ruled = ruling(job, run.origin, said)
    if isinstance(ruled, Ready):
        return transitions.freed(run, books.now)
    if isinstance(ruled, Wait):
        bound = timedelta(seconds=job.policy.blocked_seconds)
        if books.now < blocked_until(fire=run.fire_at, blocked_at=run.created_at, bound=bound):
            return None
        ruled = missing(said, bound)
    return transitions.skipped(run, ruled.reason, books.now, ruled.text)


def _said(books: Books, edge: Upstream, run: Run) -> Seen | None:
    """None: it has no say. Beside the schedule, only who was asked for with the run has one."""
    upstream, beside = books.jobs[UUID(edge.job_id)], run.origin != BY_SCHEDULE
    runs = [
        UpstreamRun(each.fire_at, each.pool, each.state, each.end_time)
        for each in _of(books, upstream, run.origin)
        if each.fire_at == run.fire_at or not beside
    ]
    if beside and not runs:
        return None
    return upstream.name, edge_state(edge, upstream, run.fire_at, runs)


def tell_dependents(books: Books, ended: Iterable[Run]) -> list[Run]:
    """Judge all that waits for runs that have just ended."""
    return judge_blocked(books, [each for run in ended for each in waiting_for(books, run)])
