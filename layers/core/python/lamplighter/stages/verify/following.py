"""The fires of a job without a schedule of its own: those that its upstreams have in the ledger.

A row of missed fires leads nobody on. What an upstream's run ended as decides whether the dependent
runs, not whether it has a run.
"""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from lamplighter.domain.dependents import upstream_ids
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Run
from lamplighter.stages.verify.case import NOWHERE, Case, Expected, Upstream
from lamplighter.stages.verify.lives import CHANGING, fires


def followed_fires(case: Case) -> dict[datetime, Expected]:
    found: dict[datetime, Expected] = {}
    if not any(_follows(version) for version in case.life.versions):
        return found
    for fire, each in (*_of_repeating(case), *_of_one_offs(case)):
        found[fire] = found[fire] | each if fire in found else each
    return found


def _follows(version: Job) -> bool:
    return version.schedule.schedule_type is ScheduleType.AFTER


def _of_repeating(case: Case) -> Iterator[tuple[datetime, Expected]]:
    for job_id, upstream in case.upstreams.items():
        if upstream.repeats:
            for fire in upstream.fires:
                if case.window.holds(fire) and (runs := upstream.led_at(fire)):
                    yield fire, _expected(case, job_id, runs)


def _expected(case: Case, job_id: UUID, runs: list[Run]) -> Expected:
    """Who was to follow is settled by the time that the upstream's run is there and due."""
    life = case.life
    run = max(runs, key=lambda each: each.created_at)
    settled_at = max(run.created_at, run.fire_at, life.created_at)
    versions = life.around(settled_at)
    allowed = frozenset(pool for version in life.versions for pool in version.pools)
    known = settled_at - CHANGING >= life.created_at or _was_open(run, life.created_at)
    if not known or not all(_awaits(version, job_id) for version in versions):
        return Expected(NOWHERE, allowed)
    required = frozenset.intersection(*(frozenset(version.pools) for version in versions))
    return Expected(required, allowed)


def _awaits(version: Job, job_id: UUID) -> bool:
    return fires(version) and _follows(version) and job_id in upstream_ids(version)


def _was_open(run: Run, instant: datetime) -> bool:
    """A job that comes later still follows what has not ended by then."""
    ended = run.end_time is not None and run.end_time <= instant + CHANGING
    return run.created_at <= instant and not ended


def _of_one_offs(case: Case) -> Iterator[tuple[datetime, Expected]]:
    """Where all upstreams fire once, they gate it once, at the latest of their instants."""
    ups = [each for each in case.upstreams.values() if not each.repeats]
    if len(ups) < len(case.upstreams) or not ups:
        return
    pools = frozenset(pool for version in case.life.versions for pool in version.pools)
    for fire in {fire for upstream in ups for fire in upstream.fires}:
        if case.window.holds(fire):
            yield fire, Expected(NOWHERE, pools)
    gate = _gate(case, ups)
    if gate is not None and case.window.holds(gate):
        yield gate, Expected(frozenset(case.life.job.pools), pools)


def _gate(case: Case, ups: list[Upstream]) -> datetime | None:
    """The instant, where it is beyond doubt: neither side was changed, all upstreams are there."""
    unchanged = len(case.life.versions) == 1 and all(len(up.life.versions) == 1 for up in ups)
    if not unchanged or not all(up.fires for up in ups):
        return None
    return max(max(up.fires) for up in ups)
