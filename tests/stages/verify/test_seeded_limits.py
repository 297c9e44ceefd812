"""Seeded bugs between runs: overlap, concurrency, order. Each test is named after its rule."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from lamplighter.domain.job import Job
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Attempt, Run
from lamplighter.stages.verify import RULES
from tests.stages.verify import test_seeded_fires, test_seeded_runs
from tests.stages.verify.world import MINUTE, NOON, TENANT, World

SECOND = timedelta(seconds=1)


@pytest.fixture
def world() -> World:
    return World()


def _runs(world: World, **fields: Any) -> list[Run]:
    """Five minutes of a job that fires every minute and is done at once."""
    job = world.cron(**fields)
    world.pass_minutes(5)
    return [run for run in world.runs(job) if run.start_time is not None]


def _until(world: World, run: Run, end: datetime) -> None:
    world.tamper(run, end_time=end)


def _into(world: World, run: Run, other: Run) -> None:
    """It went on for a second into the other one."""
    assert other.start_time is not None
    _until(world, run, other.start_time + SECOND)


@pytest.mark.parametrize("overlap", [Overlap.FORBID, Overlap.REPLACE, Overlap.QUEUE])
def test_runs_do_not_overlap(world: World, overlap: Overlap) -> None:
    first, second = _runs(world, overlap=overlap)[1:3]
    assert second.start_time is not None

    _until(world, first, second.start_time)
    assert world.found() == set()

    _until(world, first, second.start_time + SECOND)
    assert world.found() == {"runs_do_not_overlap"}


def test_runs_do_not_overlap_unless_they_may(world: World) -> None:
    first, second = _runs(world, overlap=Overlap.ALLOW)[1:3]

    _into(world, first, second)

    assert world.found() == set()


def test_runs_do_not_overlap_between_two_attempts(world: World) -> None:
    """A retry keeps its place: from the first start to the end, no other may run."""
    first, second = _runs(world, overlap=Overlap.FORBID)[1:3]
    assert second.start_time is not None
    late = second.start_time + 10 * SECOND
    world.tamper(first, fence=2, attempt_number=2, start_time=late, end_time=late)
    world.note(
        first,
        Attempt(first.run_id, 1, 1, "failed", first.start_time, first.due_at + MINUTE, "w1", None),
    )

    assert world.found() == {"runs_do_not_overlap"}


def test_runs_do_not_overlap_only_while_that_is_the_rule(world: World) -> None:
    job = world.cron(overlap=Overlap.ALLOW)
    world.pass_minutes(3)
    world.sleep(30 * SECOND)
    world.edit(job, overlap=Overlap.FORBID)
    world.pass_minutes(4)
    runs = world.runs(job)

    _into(world, runs[1], runs[6])
    assert world.found() == set()

    _into(world, runs[5], runs[6])
    assert world.found() == {"runs_do_not_overlap"}


def test_runs_do_not_overlap_that_share_an_ordering_key(world: World) -> None:
    one, other = _two(world, ordering_key="line")

    _into(world, one, other)

    assert world.found() == {"runs_do_not_overlap"}


def _two(world: World, **fields: Any) -> tuple[Run, Run]:
    """Two jobs that share a key, a minute apart."""
    jobs = [world.once(NOON + n * MINUTE, **fields) for n in (1, 2)]
    world.pass_minutes(4)
    one, other = (world.runs(job)[0] for job in jobs)
    return one, other


def test_limits_are_kept_by_a_job(world: World) -> None:
    runs = _runs(world, overlap=Overlap.ALLOW, max_concurrency=2)
    start = runs[3].start_time
    assert start is not None

    _until(world, runs[1], start + SECOND)
    assert world.found() == set()

    _until(world, runs[2], start + SECOND)
    assert world.found() == {"limits_are_kept"}


def test_limits_are_kept_by_all_jobs_of_a_key(world: World) -> None:
    one, other = _two(world, concurrency_key="db", max_concurrency=1)

    _into(world, one, other)

    [finding] = world.verify().findings
    assert (finding.rule, finding.run_id) == ("limits_are_kept", other.run_id)


def test_limits_are_kept_by_a_backfill_which_overlaps_as_its_budget_says(world: World) -> None:
    job = world.cron(overlap=Overlap.FORBID)
    fires = [NOON - MINUTE * n for n in (3, 2, 1)]
    for fire in fires:
        world.ledger.add_run(TENANT, job.job_id, "backfill:1:at_once=2", fire)
    runs = world.runs(job)[:3]
    for run in runs:
        for claimed in world.claim(run):
            world.end(claimed)

    for run in runs[:2]:
        _until(world, run, NOON + SECOND)
    assert world.found() == set()

    _until(world, runs[2], NOON + SECOND)
    assert world.found() == {"limits_are_kept"}


def test_limits_are_kept_by_attempts_and_not_between_them(world: World) -> None:
    one, other = _two(world, concurrency_key="db", max_concurrency=1)
    assert one.start_time is not None
    late = world.clock()
    world.tamper(one, fence=2, attempt_number=2, start_time=late, end_time=late)
    first = Attempt(one.run_id, 1, 1, "failed", one.start_time, one.start_time, "w1", None)

    world.note(one, first)
    assert world.found() == set()

    assert other.start_time is not None
    overlong = Attempt(
        one.run_id, 1, 1, "failed", one.start_time, other.start_time + SECOND, "w1", None
    )
    world.note(one, overlong)
    assert world.found() == {"limits_are_kept"}


def test_limits_are_kept_as_wide_as_they_were(world: World) -> None:
    job = world.cron(overlap=Overlap.ALLOW, max_concurrency=3)
    world.pass_minutes(3)
    world.sleep(30 * SECOND)
    world.edit(job, max_concurrency=1)
    world.pass_minutes(4)
    runs = world.runs(job)

    _into(world, runs[0], runs[2])
    _into(world, runs[1], runs[2])
    assert world.found() == set()

    _into(world, runs[5], runs[6])
    assert world.found() == {"limits_are_kept"}


def _swap(world: World, one: Run, other: Run) -> None:
    world.tamper(one, start_time=other.start_time, end_time=other.end_time)
    world.tamper(other, start_time=one.start_time, end_time=one.end_time)


def test_order_is_kept_by_a_queue(world: World) -> None:
    runs = _runs(world, overlap=Overlap.QUEUE)

    _swap(world, runs[1], runs[3])

    assert "order_is_kept" in world.found()


def test_order_is_kept_between_jobs(world: World) -> None:
    jobs = [world.once(NOON + n * SECOND, ordering_key="line") for n in (1, 2)]
    world.pass_minutes(3)
    one, other = (world.runs(job)[0] for job in jobs)
    later = one.start_time + 10 * SECOND  # type: ignore[operator]
    world.tamper(other, excused=False)

    world.tamper(one, start_time=later, end_time=later)

    [finding] = world.verify().findings
    assert (finding.rule, finding.run_id) == ("order_is_kept", other.run_id)


def test_every_rule_has_a_test_that_is_named_after_it() -> None:
    tests = [*dir(test_seeded_fires), *dir(test_seeded_runs), *globals()]

    untested = [rule for rule in RULES if not any(t.startswith(f"test_{rule}") for t in tests)]

    assert untested == []


def test_a_finding_names_its_job() -> None:
    world = World()
    job: Job = world.cron()
    world.pass_minutes(3)
    world.drop(world.runs(job)[1])

    [finding] = world.verify().findings

    assert (finding.job_id, finding.run_id) == (job.job_id, None)
