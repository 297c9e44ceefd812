"""What has waited too long is ended by the sweep; what is held can be decided by a person."""

import time
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import OnAmbiguous, Overlap
from lamplighter.domain.run import Recorded, Run, Settled, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version

PATIENCE = 30.0


def held(play: Play, **fields: object) -> Run:
    run = play.due(policy=Policy(on_ambiguous=OnAmbiguous.HOLD), **fields)
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    assert play.state(run) is RunState.HELD
    return run


def overdue(play: Play) -> list[Settled]:
    """Until the sweep finds something: its moment is seconds away at most."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        settled = play.ledger.settle_overdue()
        if settled:
            return settled
        time.sleep(0.02)
    raise AssertionError("nothing became overdue")


@on_every_version
def test_a_blocked_run_does_not_wait_for_ever(play: Play) -> None:
    upstream = one_off(play.at(-1), name="late riser")
    job = following(upstream, policy=Policy(blocked_seconds=1))
    further = following(job)
    play.submit(upstream, job, further)
    settled = overdue(play)
    assert [each.job_id for each in settled] == [job.job.job_id, further.job.job_id]
    run, below = play.only_run(job), play.only_run(further)
    assert (run.state, run.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_MISSING)
    assert "late riser" in (run.error_message or "")
    assert (below.state, below.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)
    assert play.ledger.settle_overdue() == []


@on_every_version
def test_a_blocked_run_goes_on_though_nobody_was_told_of_its_upstream(play: Play) -> None:
    upstream = one_off(play.at(-1))
    job, further = following(upstream), following(upstream)
    play.submit(upstream, job, further)
    play.finish(play.only_run(upstream))

    freed = play.ledger.settle_overdue(limit=1) + play.ledger.settle_overdue(limit=1)

    assert {each.job_id for each in freed} == {job.job.job_id, further.job.job_id}
    assert {each.state for each in freed} == {RunState.SCHEDULED}


def test_a_blocked_run_has_its_full_time(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream, policy=Policy(blocked_seconds=600))
    play.submit(upstream, job)
    assert play.ledger.settle_overdue() == []
    assert play.only_run(job).state is RunState.BLOCKED


def test_a_parked_run_does_not_wait_past_its_expiry(play: Play) -> None:
    expires = play.at(4)  # time enough to be parked, on a slow machine too
    first = play.due(max_concurrency=1, expires_at=expires)
    second = play.again(first)
    play.start(first)
    play.claim(second)
    assert play.state(second) is RunState.PARKED
    [settled] = overdue(play)
    assert (settled.run_id, settled.state) == (second.run_id, RunState.SKIPPED)
    assert play.seen(second).reason is SkipReason.EXPIRED


def test_whoever_waits_for_a_parked_run_that_expires_is_told_at_once(play: Play) -> None:
    limit: dict[str, Any] = {"concurrency_key": "printer", "max_concurrency": 1}
    play.start(play.due(**limit))
    waiting = one_off(play.at(-1), start_deadline_seconds=4, **limit)
    dependent = following(waiting)
    play.submit(waiting, dependent)
    play.claim(play.only_run(waiting))
    settled = overdue(play)
    assert [each.job_id for each in settled] == [waiting.job.job_id, dependent.job.job_id]
    below = play.only_run(dependent)
    assert (below.state, below.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)


@on_every_version
@pytest.mark.parametrize("state", [RunState.SUCCESS, RunState.FAILED])
def test_a_person_may_say_how_a_held_run_ended(play: Play, state: RunState) -> None:
    run = held(play)
    settled = play.ledger.decide_held(TENANT, run.run_id, state)
    assert (settled.recorded, settled.state) == (Recorded.ACCEPTED, state)
    after = play.seen(run)
    assert (after.state, after.wake_at) == (state, None)
    assert after.end_time is not None


def test_a_held_run_that_a_person_calls_a_success_has_no_error(play: Play) -> None:
    run = play.due(policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    play.end(play.start(run), Verdict.FAILED, error="boom")
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    play.ledger.decide_held(TENANT, run.run_id, RunState.SUCCESS)
    assert (play.state(run), play.seen(run).error_message) == (RunState.SUCCESS, None)


def test_a_person_may_let_a_held_run_go_again(play: Play) -> None:
    run = held(play)
    settled = play.ledger.decide_held(TENANT, run.run_id, RunState.SCHEDULED)
    assert settled.state is RunState.SCHEDULED
    assert settled.wake_at is not None
    assert play.start(run, worker="w2").fence == 3


def test_deciding_twice_decides_once(play: Play) -> None:
    run = held(play)
    play.ledger.decide_held(TENANT, run.run_id, RunState.SUCCESS)
    again = play.ledger.decide_held(TENANT, run.run_id, RunState.SUCCESS)
    other = play.ledger.decide_held(TENANT, run.run_id, RunState.FAILED)
    assert (again.recorded, again.state) == (Recorded.REPEATED, RunState.SUCCESS)
    assert (other.recorded, other.state) == (Recorded.STALE, RunState.SUCCESS)


def test_only_a_held_run_can_be_decided(play: Play) -> None:
    run = play.due()
    play.start(run)
    settled = play.ledger.decide_held(TENANT, run.run_id, RunState.SUCCESS)
    assert (settled.recorded, settled.state) == (Recorded.STALE, RunState.RUNNING)


def test_a_held_run_cannot_become_just_anything(play: Play) -> None:
    run = held(play)
    with pytest.raises(ValueError, match="SKIPPED"):
        play.ledger.decide_held(TENANT, run.run_id, RunState.SKIPPED)
    assert play.state(run) is RunState.HELD


def test_nobody_decides_about_an_unknown_run_or_another_tenants(play: Play) -> None:
    run = held(play)
    nowhere = run_id(uuid4(), play.at(), "default")
    for tenant, asked in ((TENANT, nowhere), (OTHER_TENANT, run.run_id)):
        settled = play.ledger.decide_held(tenant, asked, RunState.SUCCESS)
        assert (settled.recorded, settled.state) == (Recorded.STALE, None)
    assert play.state(run) is RunState.HELD


def test_a_held_run_that_is_decided_makes_way(play: Play) -> None:
    run = held(play, overlap=Overlap.QUEUE)
    later = play.again(run)
    play.claim(later)
    assert play.state(later) is RunState.PARKED
    play.ledger.decide_held(TENANT, run.run_id, RunState.FAILED)
    assert play.state(later) is RunState.SCHEDULED
