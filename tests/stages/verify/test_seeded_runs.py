"""Seeded bugs in how runs start, wait and end. Each test is named after its rule."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import EdgeRule, TriggerRule, Upstream
from lamplighter.domain.run import Attempt, Run, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.stages.verify.world import HOUR, MINUTE, NOON, TENANT, World

SECOND = timedelta(seconds=1)


@pytest.fixture
def world() -> World:
    return World()


def _done(world: World, **fields: Any) -> Run:
    """A one-off that has just succeeded."""
    job = world.once(**fields)
    world.pass_minutes(1)
    [run] = world.runs(job)
    assert run.state is RunState.SUCCESS
    return run


def _attempt(run: Run, fence: int, verdict: str = "failed", number: int = 1) -> Attempt:
    start = run.due_at + SECOND
    return Attempt(run.run_id, number, fence, verdict, start, start, "w1", None)


def test_every_run_ends_one_way(world: World) -> None:
    for fields in (
        {"end_time": None},
        {"reason": SkipReason.PAUSED},
        {"state": RunState.SKIPPED},
        {"start_time": None},
    ):
        world.tamper(_done(world), **fields)

    [tally] = [each for each in world.verify().rules if each.rule == "every_run_ends_one_way"]
    assert (tally.checked, tally.found) == (4, 4)


def test_one_completion_is_accepted_of_each_claim(world: World) -> None:
    run = _done(world)

    world.note(run, _attempt(run, fence=run.fence))

    assert "one_completion_is_accepted" in world.found()


def test_one_completion_is_accepted_and_no_claim_after_it(world: World) -> None:
    run = _done(world)

    world.note(run, _attempt(run, fence=run.fence + 1))

    assert "one_completion_is_accepted" in world.found()


def test_one_completion_is_accepted_by_one_fence(world: World) -> None:
    run = _done(world)
    world.tamper(run, fence=3)

    world.note(run, _attempt(run, fence=2), _attempt(run, fence=2, verdict="timed_out"))

    assert "one_completion_is_accepted" in world.found()


def test_one_completion_is_accepted_and_losses_are_counted(world: World) -> None:
    world.tamper(_done(world), losses=1)

    assert world.found() == {"one_completion_is_accepted"}


def test_attempts_stay_within_retries(world: World) -> None:
    job = world.once(max_retries=1)
    world.verdicts[job.job_id] = [Verdict.FAILED]
    world.pass_minutes(2)
    [run] = world.runs(job)
    assert run.attempt_number == 2

    world.tamper(run, attempt_number=3)

    assert world.found() == {"attempts_stay_within_retries"}


def test_times_run_forward(world: World) -> None:
    run = _done(world)

    world.tamper(run, end_time=run.start_time - SECOND)  # type: ignore[operator]

    assert "times_run_forward" in world.found()


def test_times_run_forward_from_attempt_to_attempt(world: World) -> None:
    job = world.once()
    world.verdicts[job.job_id] = [Verdict.FAILED]
    world.pass_minutes(2)
    [run] = world.runs(job)
    [noted] = world.ledger.attempts(TENANT, run.run_id)
    assert run.start_time is not None

    world.note(run, *[_ending(noted, run.start_time + SECOND)])

    assert world.found() == {"times_run_forward"}


def _ending(noted: Attempt, ended_at: Any) -> Attempt:
    return Attempt(
        noted.run_id, noted.attempt_number, noted.fence, noted.verdict, noted.started_at, ended_at,
        noted.executor_id, None,
    )  # fmt: skip


@pytest.mark.parametrize("reason", list(SkipReason))
def test_skips_have_their_reason(world: World, reason: SkipReason) -> None:
    run = _done(world)

    world.tamper(
        run, state=RunState.SKIPPED, reason=reason, start_time=None, end_time=run.due_at + SECOND
    )

    assert world.found() == {"skips_have_their_reason"}


def test_no_start_before_its_time(world: World) -> None:
    job = world.cron("0 * * * *", timing={"jitter_seconds": 3600}, job_id=UUID(int=1))
    world.pass_minutes(65, step=5 * MINUTE)
    run = world.runs(job)[0]
    assert run.due_at > run.fire_at + 2 * SECOND

    world.tamper(run, start_time=run.due_at - SECOND)
    assert world.found() == set()

    world.tamper(run, start_time=run.due_at - 2 * SECOND)

    assert world.found() == {"no_start_before_its_time"}


def test_no_start_before_its_time_with_any_attempt(world: World) -> None:
    run = _done(world)
    world.tamper(run, fence=2)

    early = run.due_at - MINUTE
    world.note(run, Attempt(run.run_id, 1, 1, "failed", early, run.due_at, "w1", None))

    assert world.found() == {"no_start_before_its_time"}


def test_no_start_after_the_end(world: World) -> None:
    job = world.once(NOON + HOUR)
    [run] = world.runs(job)
    world.ledger.cancel_runs(TENANT, [run.run_id])
    world.pass_minutes(70, step=10 * MINUTE)

    world.tamper(run, fence=1, start_time=world.clock() - MINUTE, executor_id="w1")

    assert "no_start_after_the_end" in world.found()


def test_no_start_after_cancel(world: World) -> None:
    job = world.cron()
    world.pass_minutes(3)
    world.ledger.cancel_job(TENANT, job.job_id)
    world.pass_minutes(2)
    run = world.runs(job)[-1]

    late = world.clock()
    world.tamper(run, start_time=late, end_time=late, state=RunState.SUCCESS, fence=1, reason=None)

    assert world.found() == {"no_start_after_cancel"}


def test_no_start_a_second_after_cancel(world: World) -> None:
    job = world.cron()
    world.pass_minutes(3)
    cancelled = world.ledger.cancel_job(TENANT, job.job_id).updated_at
    assert cancelled is not None
    world.pass_minutes(2)
    run = world.runs(job)[-1]

    late = cancelled + timedelta(seconds=1)
    world.tamper(run, start_time=late, end_time=late, state=RunState.SUCCESS, fence=1, reason=None)

    assert "no_start_after_cancel" in world.found()


def test_no_start_while_paused(world: World) -> None:
    job = world.cron()
    world.pass_minutes(2)
    world.ledger.pause(TENANT, job.job_id)
    world.pass_minutes(3)
    run = world.runs(job)[3]
    assert run.reason is SkipReason.PAUSED

    began = {"start_time": run.end_time, "fence": 1, "executor_id": "w1"}
    world.tamper(run, state=RunState.SUCCESS, reason=None, **began)

    assert world.found() == {"no_start_while_paused"}


def _after(world: World, *upstreams: Job | Upstream, **fields: Any) -> Run:
    job = world.after(*upstreams, **fields)
    world.pass_minutes(3)
    run = world.runs(job)[1]
    assert run.state is RunState.SUCCESS
    return run


def _upstream_run(world: World, job: Job, run: Run) -> Run:
    return next(each for each in world.runs(job) if each.fire_at == run.fire_at)


def test_no_start_before_upstreams_have_ended(world: World) -> None:
    root = world.cron()
    run = _after(world, root)

    above = _upstream_run(world, root, run)
    world.tamper(above, end_time=run.start_time + SECOND)  # type: ignore[operator]

    assert world.found() == {"no_start_before_upstreams"}


@pytest.mark.parametrize("rule", [TriggerRule.ALL_SUCCESS, TriggerRule.NONE_FAILED])
def test_no_start_before_upstreams_satisfy_the_rule(world: World, rule: TriggerRule) -> None:
    root = world.cron()
    run = _after(world, root, policy=Policy(trigger_rule=rule))

    world.tamper(_upstream_run(world, root, run), state=RunState.FAILED)

    assert world.found() == {"no_start_before_upstreams"}


def test_no_start_before_upstreams_have_a_success(world: World) -> None:
    one, other = world.cron(), world.cron()
    run = _after(world, one, other, policy=Policy(trigger_rule=TriggerRule.ONE_SUCCESS))

    world.tamper(_upstream_run(world, one, run), state=RunState.FAILED)
    assert world.found() == set()

    world.tamper(_upstream_run(world, other, run), state=RunState.FAILED)
    assert world.found() == {"no_start_before_upstreams"}


def test_no_start_before_upstreams_of_a_cascade(world: World) -> None:
    root, other = world.cron("0 * * * *"), world.cron("0 * * * *")
    job = world.after(root, other)
    world.ledger.add_run(TENANT, root.job_id, "now:1", world.clock(), cascade=True)
    world.pass_minutes(2)
    [above], [run] = ([r for r in world.runs(j) if r.origin == "now:1"] for j in (root, job))
    assert run.state is RunState.SUCCESS
    assert world.found() == set()

    world.tamper(above, end_time=run.start_time + SECOND)  # type: ignore[operator]

    assert world.found() == {"no_start_before_upstreams"}


def test_no_start_before_upstreams_of_another_fire(world: World) -> None:
    root = world.cron()
    edge = Upstream(str(root.job_id), EdgeRule.NEXT_AFTER)
    job = world.cron("*/2 * * * *", after=(edge,))
    world.pass_minutes(6)
    run = world.runs(job)[1]
    assert run.start_time is not None
    awaited = next(each for each in world.runs(root) if each.fire_at > run.fire_at)

    world.tamper(awaited, end_time=run.start_time + HOUR)

    assert "no_start_before_upstreams" in world.found()


def _stuck(world: World, job: Job | UUID, **fields: Any) -> set[str]:
    job_id = job.job_id if isinstance(job, Job) else job
    [run] = world.ledger.runs(TENANT, job_id)
    world.tamper(run, **fields)
    return world.found()


def test_nothing_is_stuck_unclaimed(world: World) -> None:
    world.once()

    world.sleep(4 * MINUTE)
    assert world.found() == set()

    world.sleep(2 * MINUTE)
    assert world.found() == {"nothing_is_stuck"}


def test_nothing_is_stuck_with_a_dead_worker(world: World) -> None:
    job = world.once()
    world.claim(*world.due())

    world.sleep(HOUR)
    world.ledger.heartbeat("w1", "default", 1)
    assert world.found() == set()

    assert _stuck(world, job, executor_id="gone") == {"nothing_is_stuck"}


def test_nothing_is_stuck_before_its_next_attempt(world: World) -> None:
    job = world.once(policy=Policy())
    [claimed] = world.claim(*world.due())
    world.end(claimed, Verdict.FAILED)
    world.sleep(HOUR)

    assert _stuck(world, job, wake_at=world.clock() + MINUTE) == set()
    assert _stuck(world, job, wake_at=world.clock() - HOUR) == {"nothing_is_stuck"}


def test_nothing_is_stuck_behind_an_upstream(world: World) -> None:
    root = world.once(max_retries=0)
    job = world.after(root)
    [claimed] = world.claim(*world.due())
    world.sleep(23 * HOUR)
    world.ledger.heartbeat("w1", "default", 1)
    assert world.found() == set()

    world.sleep(2 * HOUR)
    world.ledger.heartbeat("w1", "default", 1)
    assert world.found() == {"nothing_is_stuck"}
    assert world.ledger.runs(TENANT, job.job_id)[0].state is RunState.BLOCKED
    assert claimed.job_id == root.job_id


def test_nothing_is_stuck_in_line_for_a_free_slot(world: World) -> None:
    for _ in range(2):
        world.once(concurrency_key="k", max_concurrency=1)
    [holder] = world.claim(*world.due())
    world.sleep(HOUR)
    world.ledger.heartbeat("w1", "default", 1)
    assert world.found() == set()

    books = world.ledger._books
    [key] = books.holders
    books.holders[key] = {}

    assert world.found() == {"nothing_is_stuck"}
    assert holder.fence == 1
