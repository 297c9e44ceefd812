"""Cancel a run: what waits ends at once, what runs is asked to stop."""

from uuid import uuid4

import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import OnAmbiguous
from lamplighter.domain.run import Recorded, Refusal, Run, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, following, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


def bring_to(play: Play, state: RunState) -> Run:
    """A run in this state, by the shortest way."""
    if state is RunState.BLOCKED:
        upstream = one_off(play.at(60))
        job = following(upstream)
        play.submit(upstream, job)
        return play.only_run(job)
    run = play.due(max_concurrency=1, policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    if state is RunState.PARKED:
        play.start(run)
        run = play.again(run)
        play.claim(run)
    elif state is RunState.RETRYING:
        play.end(play.start(run), Verdict.FAILED)
    elif state is RunState.HELD:
        play.start(run)
        play.ledger.requeue_lost(ANY_SILENCE)
    assert play.state(run) is state
    return run


def test_a_run_that_was_cancelled_has_not_the_error_of_an_attempt_before(play: Play) -> None:
    run = play.due()
    play.end(play.start(run), Verdict.FAILED, error="boom")
    play.ledger.cancel_runs(TENANT, [run.run_id])
    assert (play.state(run), play.seen(run).error_message) == (RunState.CANCELLED, None)


@on_every_version
@pytest.mark.parametrize(
    "state",
    [
        RunState.SCHEDULED,
        RunState.BLOCKED,
        RunState.PARKED,
        RunState.RETRYING,
        RunState.HELD,
    ],
)
def test_what_waits_ends_at_once(play: Play, state: RunState) -> None:
    run = bring_to(play, state)
    [settled] = play.ledger.cancel_runs(TENANT, [run.run_id])
    assert (settled.job_id, settled.recorded) == (run.job_id, Recorded.ACCEPTED)
    assert settled.state is RunState.CANCELLED
    after = play.seen(run)
    assert (after.state, after.wake_at) == (RunState.CANCELLED, None)
    assert after.end_time is not None
    assert play.claim(run).refused == {run.run_id: Refusal.ENDED}


@on_every_version
def test_what_runs_is_asked_to_stop(play: Play) -> None:
    run = play.due()
    claimed = play.start(run)
    [settled] = play.ledger.cancel_runs(TENANT, [run.run_id])
    assert (settled.recorded, settled.state) == (Recorded.ACCEPTED, RunState.CANCELLING)
    assert play.ledger.heartbeat("w1", "default", 1) == [run.run_id]
    play.end(claimed, Verdict.CANCELLED)
    assert play.state(run) is RunState.CANCELLED


@pytest.mark.parametrize("state", [RunState.CANCELLING, RunState.CANCELLED, RunState.SUCCESS])
def test_what_is_stopping_or_over_stays_as_it_is(play: Play, state: RunState) -> None:
    run = play.due()
    claimed = play.start(run)
    if state is RunState.SUCCESS:
        play.end(claimed)
    else:
        play.ledger.cancel_runs(TENANT, [run.run_id])
    if state is RunState.CANCELLED:
        play.end(claimed, Verdict.CANCELLED)
    before = play.seen(run)
    [settled] = play.ledger.cancel_runs(TENANT, [run.run_id])
    assert settled.recorded is not Recorded.ACCEPTED
    assert settled.state is state
    assert play.seen(run) == before


def test_an_unknown_run_is_answered_as_unknown(play: Play) -> None:
    nowhere = run_id(uuid4(), play.at(), "default")
    [settled] = play.ledger.cancel_runs(TENANT, [nowhere])
    assert (settled.run_id, settled.recorded, settled.state) == (nowhere, Recorded.STALE, None)


def test_another_tenants_run_is_as_good_as_unknown(play: Play) -> None:
    run = play.due()
    [settled] = play.ledger.cancel_runs(OTHER_TENANT, [run.run_id])
    assert (settled.job_id, settled.recorded, settled.state) == (None, Recorded.STALE, None)
    assert play.seen(run) == run


def test_a_batch_is_answered_in_the_order_given(play: Play) -> None:
    waiting, running, over = play.due(), play.due(), play.finish(play.due())
    play.start(running)
    asked = [over.run_id, waiting.run_id, running.run_id]
    settled = play.ledger.cancel_runs(TENANT, asked)
    assert [each.run_id for each in settled] == asked
    states = [RunState.SUCCESS, RunState.CANCELLED, RunState.CANCELLING]
    assert [each.state for each in settled] == states


def test_nothing_asked_is_nothing_cancelled(ledger: Ledger) -> None:
    assert ledger.cancel_runs(TENANT, []) == []
