"""Planning that lags, people who change their minds meanwhile, jitter: no fire is lost by any."""

import pytest

from lamplighter.domain.policy import CatchUpPolicy, Overlap
from lamplighter.domain.states import RunState, SkipReason
from tests.stages.verify.world import CATCH_ALL, CATCH_NONE, HOUR, TENANT, World, every

POLICIES = [CatchUpPolicy(), CATCH_ALL, CATCH_NONE]


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("policy", POLICIES)
def test_edits_pauses_and_cancels_that_meet_lagging_planning(
    world: World, policy: CatchUpPolicy
) -> None:
    jobs = [world.cron(timing={"catch_up": policy}) for _ in range(5)]
    edited, renamed, paused, cancelled, resumed = jobs
    world.after(renamed)
    world.after(cancelled)
    world.pass_minutes(3)
    world.ledger.pause(TENANT, resumed.job_id)
    world.sleep(HOUR)

    world.edit(edited, every(120))
    world.edit(renamed, name="b")
    world.ledger.pause(TENANT, paused.job_id)
    world.ledger.cancel_job(TENANT, cancelled.job_id)
    world.ledger.resume(TENANT, resumed.job_id)
    world.pass_minutes(3)

    assert world.verify().findings == []
    reasons = [run.reason for run in world.runs(resumed) if run.missed_count > 50]
    assert reasons == [SkipReason.PAUSED]


@pytest.mark.parametrize("policy", POLICIES)
def test_jitter_that_outlasts_the_next_fires_skips_nothing(
    world: World, policy: CatchUpPolicy
) -> None:
    job = world.cron(timing={"catch_up": policy, "jitter_seconds": 1800}, overlap=Overlap.ALLOW)

    world.pass_minutes(35)

    assert world.verify().findings == []
    due = [run for run in world.runs(job) if run.due_at <= world.clock()]
    assert {run.state for run in due} == {RunState.SUCCESS}
