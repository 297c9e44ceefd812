"""Promise 1: every fire has one run, and no run is without a fire."""

from datetime import datetime

from lamplighter.domain.ids import BY_SCHEDULE, run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Run
from lamplighter.domain.schedule.times import from_ms, to_ms
from lamplighter.stages.verify.case import Case, Expected, Upstream
from lamplighter.stages.verify.covers import Covers
from lamplighter.stages.verify.expected import (
    is_fire,
    line_of,
    own_fires,
    required_from,
    stretches,
)
from lamplighter.stages.verify.findings import Said, Verdicts, at, of_run
from lamplighter.stages.verify.following import followed_fires
from lamplighter.stages.verify.lives import CHANGING, FAR_AHEAD, fires


def expected_fires(case: Case) -> dict[datetime, Expected]:
    """By its own schedule, or after others; at some time it may have been either."""
    found = own_fires(case)
    for fire, each in followed_fires(case).items():
        found[fire] = found[fire] | each if fire in found else each
    return found


def every_fire_has_a_run(case: Case) -> Verdicts:
    """Or is among those that a row of missed fires stands for."""
    present = {(run.fire_at, run.pool) for run in case.scheduled}
    covers = Covers(case.missed)
    for fire, expected in case.expected.items():
        for pool in expected.required:
            if (fire, pool) in present or covers.row_at(pool, fire):
                yield None
            else:
                text = f"the fire at {at(fire)} has no run in pool {pool!r}"
                yield Said(text, case.life.job_id)


def no_fire_runs_twice(case: Case) -> Verdicts:
    covers = Covers(case.missed)
    seen: dict[tuple[str, str, datetime], Run] = {}
    for run in case.runs:
        other = seen.setdefault((run.origin, run.pool, run.fire_at), run)
        row = covers.row_at(run.pool, run.fire_at) if run.origin == BY_SCHEDULE else None
        twin = other if other is not run else row
        if twin is None or twin is run:
            yield None
        else:
            yield of_run(run, f"the fire at {at(run.fire_at)} has run {twin.run_id} as well")


def every_run_has_a_fire(case: Case) -> Verdicts:
    for run in case.runs:
        if run.run_id != run_id(run.job_id, run.fire_at, run.pool, run.origin):
            yield of_run(run, f"its id is not the one of its fire at {at(run.fire_at)}")
        elif run.origin == BY_SCHEDULE and run.missed_to is None:
            planned = case.expected.get(run.fire_at)
            known = planned is not None and run.pool in planned.allowed
            yield None if known or _was_a_fire(case, run) else of_run(run, _no_fire(run))
        elif run.origin.startswith("backfill:"):
            yield None if _is_of_some_version(case, run) else of_run(run, _no_fire(run))
        else:
            known = run.missed_to is not None or run.origin.startswith("now:")
            yield None if known else of_run(run, f"nobody makes runs of origin {run.origin!r}")


def _no_fire(run: Run) -> str:
    return f"the job had no fire at {at(run.fire_at)} in pool {run.pool!r}"


def _is_of_some_version(case: Case, run: Run) -> bool:
    return any(
        is_fire(case, version.schedule, run.fire_at) for version in case.life.around(run.created_at)
    )


def _was_a_fire(case: Case, run: Run) -> bool:
    """Of the schedule that wrote it, and of every later one that would have removed it."""
    if _may_be_of_older_calendar(case, run):
        return True
    ended = run.end_time or FAR_AHEAD
    if _was_led_once(case, run):
        return True
    first = min((_begins(case) or FAR_AHEAD), run.created_at)
    if run.fire_at < first - CHANGING or not any(
        _has(case, version, run) for version in case.life.around(run.created_at)
    ):
        return False
    return all(
        _has(case, version, run)
        for number, version in enumerate(case.life.versions)
        if run.created_at + CHANGING < case.life.since(number) < min(run.fire_at, ended) - CHANGING
    )


def _was_led_once(case: Case, run: Run) -> bool:
    """An upstream may have taken its fire back after this run was decided, or let go."""
    if case.upstreams and run.end_time is not None and run.end_time < run.fire_at:
        return True
    return run.excused and any(_may_have_turned(up, run) for up in case.upstreams.values())


def _may_have_turned(upstream: Upstream, run: Run) -> bool:
    """It was changed before the fire came; or follows others, who may have been."""
    life = upstream.life
    return life.job.schedule.schedule_type is ScheduleType.AFTER or any(
        run.created_at - CHANGING < life.since(number) < run.fire_at + CHANGING
        for number in range(1, len(life.versions))
    )


def _begins(case: Case) -> datetime | None:
    first = next(iter(stretches(case)), None)
    return None if first is None else min(required_from(case, first), first.since)


def _has(case: Case, version: Job, run: Run) -> bool:
    own = version.schedule.schedule_type is not ScheduleType.AFTER
    return (
        own
        and fires(version)
        and run.pool in version.pools
        and is_fire(case, version.schedule, run.fire_at)
    )


def _may_be_of_older_calendar(case: Case, run: Run) -> bool:
    changes = [case.days.last_change(version.schedule) for version in case.life.versions]
    return any(change is not None and run.created_at - CHANGING < change for change in changes)


def missed_fires_are_counted(case: Case) -> Verdicts:
    for row in case.missed:
        counts = [
            _count(case, version, row)
            for version in case.life.around(row.created_at)
            if fires(version) and version.schedule.schedule_type.is_recurring
        ]
        if row.missed_count in counts or None in counts or _may_be_of_older_calendar(case, row):
            yield None
        else:
            told = f"from {at(row.fire_at)} to {at(row.missed_to)}"
            had = f"the schedule has {max((n for n in counts if n), default=0)}"
            yield of_run(row, f"it stands for {row.missed_count} fires {told}, where {had}")


def _count(case: Case, version: Job, row: Run) -> int | None:
    """How many fires the row should stand for; 0 where its ends are none; None: unknown."""
    line = line_of(case, version.schedule)
    if line is None or row.missed_to is None:
        return None
    if not all(is_fire(case, version.schedule, end) for end in (row.fire_at, row.missed_to)):
        return 0
    return line.count(to_ms(row.fire_at), to_ms(row.missed_to) + 1)


def schedules_keep_up(case: Case) -> Verdicts:
    """Planning stands ahead of now, wherever a schedule has fires left."""
    job, stands = case.life.job, case.life.next_fire_at
    if not fires(job) or job.schedule.schedule_type is ScheduleType.AFTER:
        return
    if stands is not None:
        if stands >= case.window.overdue:
            yield None
        else:
            yield Said(f"nobody has planned its fires from {at(stands)} on", job.job_id)
    elif job.schedule.schedule_type.is_recurring:
        left = next_unplanned(case)
        text = f"it has fires from {at(left)} on, and no place from where to plan them"
        yield None if left is None else Said(text, job.job_id)


def next_unplanned(case: Case) -> datetime | None:
    """The first fire beyond what the ledger holds."""
    line = line_of(case, case.life.job.schedule)
    last = max((run.fire_at for run in case.ahead), default=case.window.now)
    fire = None if line is None else line.next(to_ms(last))
    return None if fire is None else from_ms(fire)
