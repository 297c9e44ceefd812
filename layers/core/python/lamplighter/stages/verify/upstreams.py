"""No run starts before its upstreams have ended as its trigger rule wants them to."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from lamplighter.domain.dependents import UpstreamRun, edge_state, edges_of
from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job
from lamplighter.domain.policy import EdgeRule
from lamplighter.domain.policy import Upstream as Edge
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from lamplighter.domain.trigger import Ready, verdict
from lamplighter.stages.verify.case import Case, Upstream
from lamplighter.stages.verify.findings import Verdicts, at, of_run

# How far back an upstream's runs are read for a rule that looks back without a bound of its own.
LOOK_BACK: Final = timedelta(days=1)
_LATEST_KEPT: Final = 50


def no_start_before_upstreams(case: Case) -> Verdicts:
    if not case.upstreams:
        return
    for run in case.runs:
        start = case.first_start(run)
        if start is None or not _has_waited(case, run) or not _can_tell(case, run):
            continue
        if _was_ready(case, run, start):
            yield None
        else:
            yield of_run(run, f"it started at {at(start)}; {_told(case, run, start)}")


def _has_waited(case: Case, run: Run) -> bool:
    """Beside the schedule, who was asked for by name starts at once; who follows is let go."""
    if run.origin == BY_SCHEDULE:
        return True
    asked = (run.origin, run.fire_at)
    return run.excused and any(asked in up.beside for up in case.upstreams.values())


def _can_tell(case: Case, run: Run) -> bool:
    """Not where a success that lies further back than was read may have freed it."""
    if run.origin != BY_SCHEDULE:
        return True
    edges = [
        edge
        for version in case.life.during(run.created_at, run.created_at)
        for edge in version.after
    ]
    open_ended = any(
        edge.rule is EdgeRule.LATEST_SUCCESS and edge.within_seconds is None for edge in edges
    )
    known = all(
        up.runs or up.life.created_at >= case.window.kept_since for up in case.upstreams.values()
    )
    return known and not open_ended


def _was_ready(case: Case, run: Run, start: datetime) -> bool:
    """At the start, or at any moment before that: a rule once met stays met."""
    versions = case.life.during(run.created_at, start)
    if any(_is_ready(case, version, run, start) for version in versions):
        return True
    moments = {moment for moment in _deciding(case, run) if moment < start}
    return any(_is_ready(case, version, run, moment) for version in versions for moment in moments)


def _deciding(case: Case, run: Run) -> Iterator[datetime]:
    """When it may have been judged: as it was written, an upstream ended, or a job was changed."""
    yield run.created_at
    for life in (case.life, *(upstream.life for upstream in case.upstreams.values())):
        yield from (life.since(number) for number in range(1, len(life.versions)))
    for upstream in case.upstreams.values():
        for other in _deciders(upstream, run):
            if other.end_time is not None:
                yield other.end_time


def _deciders(upstream: Upstream, run: Run) -> Sequence[Run]:
    if run.origin != BY_SCHEDULE:
        return upstream.beside.get((run.origin, run.fire_at), ())
    return upstream.by_fire.get(run.fire_at, ()) or upstream.runs[-_LATEST_KEPT:]


def _edges(case: Case, version: Job, run: Run) -> Sequence[Edge]:
    """Beside the schedule, those to jobs that were asked for with it."""
    edges = edges_of(version, run.origin)
    if run.origin == BY_SCHEDULE:
        return edges
    ups = [(edge, case.upstreams.get(UUID(edge.job_id))) for edge in edges]
    return [edge for edge, up in ups if up and (run.origin, run.fire_at) in up.beside]


def _is_ready(case: Case, version: Job, run: Run, instant: datetime) -> bool:
    said = [(edge.job_id, _said(case, edge, run, instant)) for edge in _edges(case, version, run)]
    return isinstance(verdict(version.policy.trigger_rule, said), Ready)


def _said(case: Case, edge: Edge, run: Run, instant: datetime) -> RunState | None:
    """What this upstream had come to by then, as whichever version of it held."""
    upstream = case.upstreams.get(UUID(edge.job_id))
    if upstream is None:
        return None
    seen = [
        _as_of(other, instant)
        for other in _heard(edge, upstream, run)
        if other.created_at <= instant
    ]
    versions = upstream.life.during(min(run.fire_at, instant), instant)
    states = [edge_state(edge, version, run.fire_at, seen) for version in versions]
    return next((state for state in states if state is not None and state.is_final), None)


def _heard(edge: Edge, upstream: Upstream, run: Run) -> Sequence[Run]:
    """As few of its runs as can matter: a graph that fires every second has many."""
    if run.origin != BY_SCHEDULE:
        return upstream.beside[run.origin, run.fire_at]
    if not upstream.repeats:
        return upstream.runs
    here = bisect_right(upstream.fires, run.fire_at)
    if edge.rule is EdgeRule.SAME_FIRE:
        return upstream.by_fire.get(run.fire_at, ())
    if edge.rule is EdgeRule.NEXT_AFTER:
        return [
            other for fire in upstream.fires[here : here + 3] for other in upstream.by_fire[fire]
        ]
    return [other for fire in reversed(upstream.fires[:here]) for other in upstream.by_fire[fire]]


def _as_of(run: Run, instant: datetime) -> UpstreamRun:
    ended = run.state.is_final and run.end_time is not None and run.end_time <= instant
    state = run.state if ended else RunState.RUNNING
    return UpstreamRun(run.fire_at, run.pool, state, run.end_time if ended else None)


def _told(case: Case, run: Run, start: datetime) -> str:
    version = case.life.at(start)
    waiting = [
        f"{edge.job_id} ({state.name if state else 'open'})"
        for edge in _edges(case, version, run)
        if (state := _said(case, edge, run, start)) is not RunState.SUCCESS
    ]
    rule = version.policy.trigger_rule.value
    return f"by then its rule {rule} was not met by {', '.join(waiting[:3]) or 'its upstreams'}"
