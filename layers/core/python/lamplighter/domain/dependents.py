"""Which fires a job without a schedule of its own gets from its upstreams.

The fire is the DAG run: a dependent has a blocked run at each nominal fire of its upstreams. Where
all of them fire once, they gate it once, at the latest of their instants.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.domain.errors import InvalidGraph, InvalidJob
from lamplighter.domain.graph import topological_order
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import EdgeRule, ScheduleType, Upstream
from lamplighter.domain.run import NewRun, new_runs
from lamplighter.domain.schedule import align
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.domain.trigger import Ready, Seen, Skip, Verdict, over_pools, verdict

MOST_CASCADED: Final = 10_000


class SeenUpstream(msgspec.Struct, frozen=True):
    """An upstream as the ledger knows it, or as it is about to be written."""

    job: Job
    fires: frozenset[datetime]  # in the ledger: open ones and those to come; all, if it fires once


def upstream_ids(job: Job) -> list[UUID]:
    try:
        return [UUID(edge.job_id) for edge in job.after]
    except ValueError as error:
        raise InvalidGraph("after", "give job ids, as the submission answered them") from error


def blocked_fires(upstreams: Sequence[SeenUpstream]) -> list[datetime]:
    """The fires of a job that waits for these. None while a one-off upstream is not yet written."""
    repeating = [seen for seen in upstreams if seen.job.repeats]
    if repeating:
        return sorted(frozenset().union(*(seen.fires for seen in repeating)))
    if not upstreams or not all(seen.fires for seen in upstreams):
        return []
    return [max(max(seen.fires) for seen in upstreams)]


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Upstreams before dependents."""
    by_id = {job.job_id: job for job in jobs}
    edges = {
        job_id: [up for up in upstream_ids(job) if up in by_id] for job_id, job in by_id.items()
    }
    return [by_id[job_id] for job_id in topological_order(edges)]


def follow(job: Job, upstreams: Sequence[Job]) -> Job:
    """The job, knowing whether it repeats. Refuses upstreams that never share a fire with it."""
    own_schedule = job.schedule.schedule_type is not ScheduleType.AFTER
    repeats = job.schedule.schedule_type.is_recurring or (
        not own_schedule and any(upstream.repeats for upstream in upstreams)
    )
    _check_same_fire(job, upstreams, own_schedule=own_schedule)
    return msgspec.structs.replace(job, repeats=repeats)


def _check_same_fire(job: Job, upstreams: Sequence[Job], *, own_schedule: bool) -> None:
    rules = {UUID(edge.job_id): edge.rule for edge in job.after}
    same = [up for up in upstreams if rules[up.job_id] is EdgeRule.SAME_FIRE]
    timed = [up for up in same if up.schedule.schedule_type.is_recurring]
    if own_schedule and job.schedule.schedule_type.is_recurring:
        timed.append(job)
    for other in timed[1:]:
        if not align(timed[0].schedule, other.schedule):
            raise InvalidGraph(
                "after",
                f"{timed[0].name!r} and {other.name!r} never provably fire together; give them the "
                "same schedule, or name a rule: latest_success or next_after",
            )


def runs_of_dependents(
    dependents: Sequence[Job], seen: Mapping[UUID, SeenUpstream]
) -> list[tuple[Job, datetime]]:
    """Every (job, fire) to write as blocked, given what is known of all upstreams.

    Dependents come upstream first, so that a chain passes its fires on.
    """
    known = dict(seen)
    blocked: list[tuple[Job, datetime]] = []
    for job in dependents:
        found = blocked_fires([known[up] for up in upstream_ids(job)])
        before = known[job.job_id].fires if job.job_id in known else frozenset()
        known[job.job_id] = SeenUpstream(job, before | frozenset(found))
        blocked += [(job, fire) for fire in found]
    return blocked


def cascaded_runs(
    root: UUID, dependents: Sequence[Job], origin: str, fires: Sequence[datetime]
) -> list[NewRun]:
    """The blocked runs of those that follow a run beside the schedule of this job.

    Dependents come upstream first. What hangs on the root only by way of a job that has a schedule
    of its own, or was cancelled, is not led on: that job has no such run.
    """
    led, following = {root}, list[Job]()
    for job in dependents:
        if not led.isdisjoint(upstream_ids(job)):
            led.add(job.job_id)
            following.append(job)
    if len(following) > MOST_CASCADED:
        raise InvalidJob(
            "cascade",
            f"{len(following):,} jobs would follow, over {MOST_CASCADED:,}; run parts of the graph",
        )
    return [
        run
        for job in following
        for fire in fires
        for run in new_runs(job, fire, origin=origin, blocked=True)
    ]


def edges_of(job: Job, origin: str) -> Sequence[Upstream]:
    """What a run waits for; beside the schedule that is the same fire, whatever the edge's rule.

    There, an upstream that has no run of this origin and fire was not asked for: leave it out.
    """
    if origin == BY_SCHEDULE:
        return job.after
    return [Upstream(edge.job_id) for edge in job.after]


def ruling(job: Job, origin: str, upstreams: Sequence[Seen]) -> Verdict:
    """As the trigger rule says. A pause holds for who follows beside the schedule, too.

    At the claim that would be too late: there, such a run looks like one that was asked for.
    """
    ruled = verdict(job.policy.trigger_rule, upstreams)
    paused = job.status is JobStatus.PAUSED and origin != BY_SCHEDULE
    if isinstance(ruled, Ready) and paused:
        return Skip(SkipReason.PAUSED, "it was paused when its upstreams let it go")
    return ruled


class UpstreamRun(msgspec.Struct, frozen=True):
    """As much of an upstream's run as its dependents want to know."""

    fire_at: datetime
    pool: str
    state: RunState
    end_time: datetime | None


def edge_state(
    edge: Upstream, upstream: Job, fire: datetime, runs: Sequence[UpstreamRun]
) -> RunState | None:
    """What one upstream says to a dependent's run at `fire`; None while it says nothing."""
    said = _said(edge, upstream, fire, runs)
    # A job that was cancelled will say nothing more: waiting for it would only take longer.
    silent = said is None and upstream.status is JobStatus.CANCELLED
    return RunState.CANCELLED if silent else said


def _said(
    edge: Upstream, upstream: Job, fire: datetime, runs: Sequence[UpstreamRun]
) -> RunState | None:
    if edge.rule is EdgeRule.LATEST_SUCCESS:
        return _latest_success(edge, fire, runs)
    awaited = _awaited_fire(edge, upstream, fire, runs)
    # In the pools that this fire was written for, at once: an edit may have named others since.
    found = {run.pool: run.state for run in runs if run.fire_at == awaited}
    return over_pools(list(found.values()))


def _awaited_fire(
    edge: Upstream, upstream: Job, fire: datetime, runs: Sequence[UpstreamRun]
) -> datetime | None:
    if not upstream.repeats:
        return max((run.fire_at for run in runs), default=None)
    if edge.rule is EdgeRule.NEXT_AFTER:
        return min((run.fire_at for run in runs if run.fire_at > fire), default=None)
    return fire


def _latest_success(edge: Upstream, fire: datetime, runs: Sequence[UpstreamRun]) -> RunState | None:
    since = None if edge.within_seconds is None else fire - timedelta(seconds=edge.within_seconds)
    for run in runs:
        recent = since is None or (run.end_time is not None and run.end_time >= since)
        if run.state is RunState.SUCCESS and run.fire_at <= fire and recent:
            return RunState.SUCCESS
    return None
