"""Runs that a worker gives back, and runs that somebody wants stopped while they run."""

import pytest

from lamplighter.domain.run import Recorded, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import TENANT
from tests.adapters.ledger.play import Play


def test_a_run_given_back_is_as_if_it_had_not_been_claimed_but_for_the_fence(play: Play) -> None:
    run = play.due()
    settled = play.end(play.start(run), Verdict.RELEASED)
    assert settled.recorded is Recorded.ACCEPTED
    after = play.seen(run)
    assert (after.state, after.fence, after.attempt_number) == (RunState.SCHEDULED, 1, 1)
    assert (after.start_time, after.executor_id) == (None, None)
    assert after.wake_at is not None
    assert after.wake_at <= play.ledger.now()
    assert play.ledger.attempts(TENANT, run.run_id) == []


def test_a_retry_given_back_keeps_its_attempt(play: Play) -> None:
    run = play.due()
    play.end(play.start(run), Verdict.FAILED)
    play.end(play.start(run), Verdict.RELEASED)
    after = play.seen(run)
    assert (after.state, after.attempt_number) == (RunState.SCHEDULED, 2)
    assert after.start_time is not None
    claimed = play.start(run, worker="w2")
    assert (claimed.attempt, claimed.fence) == (2, 3)


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (Verdict.SUCCESS, RunState.SUCCESS),
        (Verdict.FAILED, RunState.CANCELLED),
        (Verdict.TIMED_OUT, RunState.CANCELLED),
        (Verdict.CANCELLED, RunState.CANCELLED),
        (Verdict.RELEASED, RunState.CANCELLED),
    ],
)
def test_a_run_that_was_asked_to_stop_is_not_tried_again(
    play: Play, verdict: Verdict, state: RunState
) -> None:
    run = play.due()
    claimed = play.start(run)
    play.ledger.cancel_runs(TENANT, [run.run_id])
    settled = play.end(claimed, verdict)
    assert (settled.recorded, settled.state) == (Recorded.ACCEPTED, state)
    assert play.end(claimed, verdict).recorded is Recorded.REPEATED
    assert play.ledger.heartbeat("w1", "default", 1) == []
