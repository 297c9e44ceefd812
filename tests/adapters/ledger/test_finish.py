"""Finish: how attempts end, what a failure costs, and what an old fence is worth."""

from datetime import timedelta
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Backoff
from lamplighter.domain.run import Outcome, Recorded, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import TENANT
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version

STEADY = Policy(backoff=Backoff(base_seconds=30, jitter=False))
FINAL = {
    Verdict.SUCCESS: RunState.SUCCESS,
    Verdict.FAILED: RunState.FAILED,
    Verdict.TIMED_OUT: RunState.TIMED_OUT,
    Verdict.CANCELLED: RunState.CANCELLED,
}


@on_every_version
def test_a_success_keeps_all_that_the_worker_says(play: Play) -> None:
    run = play.due()
    claimed = play.start(run)
    said = {"result": {"rows": 3}, "stdout": "out", "stderr": "err", "log_url": "https://log"}
    settled = play.end(claimed, Verdict.SUCCESS, **said)
    assert (settled.job_id, settled.recorded) == (run.job_id, Recorded.ACCEPTED)
    assert (settled.state, settled.wake_at) == (RunState.SUCCESS, None)
    after = play.seen(run)
    assert {name: getattr(after, name) for name in said} == said
    assert (after.state, after.executor_id) == (RunState.SUCCESS, "w1")
    assert after.end_time is not None
    assert after.start_time is not None
    assert after.end_time >= after.start_time
    assert play.ledger.attempts(TENANT, run.run_id) == []


@on_every_version
@pytest.mark.parametrize("verdict", FINAL)
def test_the_last_attempt_decides_how_a_run_ends(play: Play, verdict: Verdict) -> None:
    run = play.due(max_retries=0)
    settled = play.end(play.start(run), verdict, error="why")
    assert (settled.recorded, settled.state) == (Recorded.ACCEPTED, FINAL[verdict])
    assert play.state(run) is FINAL[verdict]


@pytest.mark.parametrize("keyed", [{}, {"max_concurrency": 1}], ids=["plain", "keyed"])
def test_the_worker_says_when_it_ended(play: Play, keyed: dict[str, int]) -> None:
    run = play.due(**keyed)
    claimed = play.start(run)
    ended = play.ledger.now()
    play.end(claimed, ended_at=ended)
    assert play.seen(run).end_time == ended


@pytest.mark.parametrize("keyed", [{}, {"max_concurrency": 1}], ids=["plain", "keyed"])
def test_a_success_has_no_error_though_an_attempt_before_it_had(
    play: Play, keyed: dict[str, int]
) -> None:
    run = play.due(**keyed)
    play.end(play.start(run), Verdict.FAILED, error="boom")
    assert play.seen(run).error_message == "boom"
    play.end(play.start(run))
    assert (play.state(run), play.seen(run).error_message) == (RunState.SUCCESS, None)
    assert [each.error_message for each in play.ledger.attempts(TENANT, run.run_id)] == ["boom"]


@pytest.mark.parametrize("keyed", [{}, {"max_concurrency": 1}], ids=["plain", "keyed"])
def test_nothing_ends_in_the_future_or_before_it_began(play: Play, keyed: dict[str, int]) -> None:
    ahead, behind = play.due(**keyed), play.due(**keyed)
    play.end(play.start(ahead), ended_at=play.at(3600))
    play.end(play.start(behind), ended_at=play.at(-3600))
    assert (play.seen(ahead).end_time or play.at(7200)) <= play.ledger.now()
    assert play.seen(behind).end_time == play.seen(behind).start_time


@on_every_version
@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.TIMED_OUT])
def test_a_failure_is_tried_again_after_its_backoff(play: Play, verdict: Verdict) -> None:
    run = play.due(policy=STEADY)
    settled = play.end(play.start(run), verdict, error="no route")
    assert settled.state is RunState.RETRYING
    assert settled.wake_at is not None
    assert timedelta(seconds=28) < settled.wake_at - play.ledger.now() <= timedelta(seconds=30)
    after = play.seen(run)
    assert (after.attempt_number, after.fence, after.error_message) == (2, 1, "no route")
    assert (after.wake_at, after.end_time) == (settled.wake_at, None)


def test_backoff_grows_with_every_attempt(play: Play) -> None:
    run = play.due(policy=STEADY, max_retries=3)
    waits = []
    for _ in range(3):
        settled = play.end(play.start(run), Verdict.FAILED)
        assert settled.wake_at is not None
        waits.append(round((settled.wake_at - play.ledger.now()).total_seconds()))
    assert waits == [30, 60, 120]


def test_a_run_has_as_many_attempts_as_its_job_gives_it(play: Play) -> None:
    run = play.due(max_retries=2)
    states = []
    for attempt in (1, 2, 3):
        claimed = play.start(run)
        assert (claimed.attempt, claimed.fence) == (attempt, attempt)
        states.append(play.end(claimed, Verdict.FAILED).state)
    assert states == [RunState.RETRYING, RunState.RETRYING, RunState.FAILED]


def test_attempts_are_those_of_the_job_as_it_is_now(play: Play) -> None:
    run = play.due(max_retries=5)
    claimed = play.start(run)
    edited = msgspec.structs.replace(play.job(run.job_id), max_retries=0)
    play.ledger.reschedule(edited, expected_version=1, first_fire=None, next_fire=None)
    assert play.end(claimed, Verdict.FAILED).state is RunState.FAILED


def test_an_error_that_no_retry_would_mend_ends_at_once(play: Play) -> None:
    run = play.due()
    assert play.end(play.start(run), Verdict.FAILED, retryable=False).state is RunState.FAILED


def test_every_attempt_that_did_not_succeed_is_kept(play: Play) -> None:
    run = play.due(max_retries=3)
    for verdict, error in ((Verdict.FAILED, "first"), (Verdict.TIMED_OUT, "second")):
        play.end(play.start(run), verdict, error=error)
    play.end(play.start(run), Verdict.CANCELLED)
    kept = play.ledger.attempts(TENANT, run.run_id)
    assert [(each.attempt_number, each.fence, each.verdict) for each in kept] == [
        (1, 1, "failed"),
        (2, 2, "timed_out"),
        (3, 3, "cancelled"),
    ]
    assert [each.error_message for each in kept] == ["first", "second", None]
    assert {each.executor_id for each in kept} == {"w1"}
    assert all(each.started_at and each.started_at <= each.ended_at for each in kept)


@pytest.mark.parametrize("verdict", Verdict)
def test_the_same_report_twice_is_accepted_once(play: Play, verdict: Verdict) -> None:
    claimed = play.start(play.due())
    first = play.end(claimed, verdict)
    again = play.end(claimed, verdict)
    assert (first.recorded, again.recorded) == (Recorded.ACCEPTED, Recorded.REPEATED)
    assert (again.state, again.wake_at, again.job_id) == (first.state, first.wake_at, first.job_id)


@pytest.mark.parametrize("verdict", [Verdict.SUCCESS, Verdict.FAILED])
def test_the_same_report_twice_in_one_batch_is_accepted_once(play: Play, verdict: Verdict) -> None:
    run = play.due()
    claimed = play.start(run)
    outcome = Outcome(run_id=run.run_id, fence=claimed.fence, verdict=verdict)
    first, second = play.ledger.finish([outcome, outcome])
    assert (first.recorded, second.recorded) == (Recorded.ACCEPTED, Recorded.REPEATED)
    assert len(play.ledger.attempts(TENANT, run.run_id)) == (verdict is Verdict.FAILED)


def test_another_report_than_the_first_changes_nothing(play: Play) -> None:
    run = play.due()
    claimed = play.start(run)
    play.end(claimed, Verdict.SUCCESS, result=1)
    late = play.end(claimed, Verdict.FAILED, error="late")
    assert (late.recorded, late.state) == (Recorded.STALE, RunState.SUCCESS)
    assert (play.seen(run).result, play.seen(run).error_message) == (1, None)


@on_every_version
@pytest.mark.parametrize("verdict", Verdict)
def test_an_older_fence_changes_nothing(play: Play, verdict: Verdict) -> None:
    run = play.due()
    old = play.start(run, worker="w1")
    play.ledger.requeue_lost(ANY_SILENCE)
    new = play.start(run, worker="w2")
    before = play.seen(run)
    stale = play.end(old, verdict)
    assert (stale.recorded, stale.state) == (Recorded.STALE, RunState.RUNNING)
    assert play.seen(run) == before
    assert play.end(new).recorded is Recorded.ACCEPTED


def test_a_report_of_a_run_that_is_gone_is_stale(play: Play) -> None:
    nowhere = run_id(uuid4(), play.at(), "default")
    [settled] = play.ledger.finish([Outcome(run_id=nowhere, fence=1, verdict=Verdict.SUCCESS)])
    assert (settled.job_id, settled.recorded, settled.state) == (None, Recorded.STALE, None)


def test_a_batch_is_answered_in_the_order_given(play: Play) -> None:
    claimed = [play.start(play.due()) for _ in range(6)]
    verdicts = [Verdict.SUCCESS, Verdict.FAILED, Verdict.RELEASED] * 2
    outcomes = [
        Outcome(run_id=each.run_id, fence=each.fence, verdict=verdict)
        for each, verdict in zip(reversed(claimed), verdicts, strict=True)
    ]
    settled = play.ledger.finish(outcomes)
    assert [each.run_id for each in settled] == [outcome.run_id for outcome in outcomes]
    expected = [RunState.SUCCESS, RunState.RETRYING, RunState.SCHEDULED] * 2
    assert [each.state for each in settled] == expected


def test_nothing_reported_is_nothing_recorded(ledger: Ledger) -> None:
    assert ledger.finish([]) == []
