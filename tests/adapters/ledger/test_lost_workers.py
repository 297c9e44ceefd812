"""Workers that fall silent: their runs go on elsewhere, are held, or end; and only theirs."""

from datetime import timedelta
from uuid import uuid4

from lamplighter.domain.job import Policy
from lamplighter.domain.policy import OnAmbiguous
from lamplighter.domain.run import Recorded, Settled, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import TENANT, following, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_dead_worker_loses_its_run_once(play: Play) -> None:
    run = play.due()
    play.start(run)
    [lost] = play.ledger.requeue_lost(ANY_SILENCE)
    assert (lost.run_id, lost.job_id) == (run.run_id, run.job_id)
    assert (lost.recorded, lost.state) == (Recorded.ACCEPTED, RunState.SCHEDULED)
    assert play.ledger.requeue_lost(ANY_SILENCE) == []
    after = play.seen(run)
    assert (after.fence, after.attempt_number, after.losses) == (2, 1, 1)
    assert after.wake_at is not None
    assert after.wake_at <= play.ledger.now()


def test_a_loss_costs_no_attempt_and_is_kept(play: Play) -> None:
    run = play.due(max_retries=0)
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    claimed = play.start(run, worker="w2")
    assert (claimed.attempt, claimed.fence) == (1, 3)
    [attempt] = play.ledger.attempts(TENANT, run.run_id)
    assert (attempt.verdict, attempt.fence, attempt.executor_id) == ("lost", 1, "w1")


def test_a_pool_is_busy_while_a_worker_has_a_run_of_it_in_hand(play: Play) -> None:
    run = play.due(pool="tasks")
    told = uuid4()
    assert play.ledger.busy_pools(["tasks", "default"]) == set()

    claimed = play.start(run, claim=told)
    assert play.ledger.busy_pools(["tasks", "default"]) == {"tasks"}
    assert play.ledger.busy_pools(["default"]) == set()
    play.end(claimed)
    assert play.ledger.busy_pools(["tasks"]) == set()

    play.start(play.due(pool="tasks"), claim=told)
    play.ledger.mark_reported([told])
    assert play.ledger.busy_pools(["tasks"]) == set()


def test_a_worker_that_beats_loses_nothing(play: Play) -> None:
    run = play.due()
    play.start(run)
    play.ledger.heartbeat("w1", "default", 1)
    assert play.ledger.requeue_lost(timedelta(seconds=60)) == []
    assert play.state(run) is RunState.RUNNING


def test_a_claim_is_a_heartbeat(play: Play) -> None:
    run = play.due()
    play.start(run)
    assert play.ledger.requeue_lost(timedelta(seconds=60)) == []


def test_a_worker_that_was_forgotten_may_come_back(play: Play) -> None:
    first, second = play.due(), play.due()
    play.start(first)
    play.ledger.requeue_lost(ANY_SILENCE)
    play.start(second)
    [lost] = play.ledger.requeue_lost(ANY_SILENCE)
    assert lost.run_id == second.run_id


@on_every_version
def test_a_job_may_have_its_lost_runs_held(play: Play) -> None:
    run = play.due(policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    claimed = play.start(run)
    [lost] = play.ledger.requeue_lost(ANY_SILENCE)
    assert lost.state is RunState.HELD
    assert play.end(claimed).recorded is Recorded.STALE
    assert play.state(run) is RunState.HELD


def test_the_fifth_loss_is_the_end(play: Play) -> None:
    run = play.due()
    for _ in range(4):
        play.start(run)
        [lost] = play.ledger.requeue_lost(ANY_SILENCE)
        assert lost.state is RunState.SCHEDULED
    play.start(run)
    [lost] = play.ledger.requeue_lost(ANY_SILENCE)
    assert lost.state is RunState.FAILED
    after = play.seen(run)
    assert (after.error_message, after.losses) == ("worker_lost", 5)
    assert len(play.ledger.attempts(TENANT, run.run_id)) == 5


def test_a_lost_run_that_was_asked_to_stop_is_cancelled(play: Play) -> None:
    run = play.due()
    play.start(run)
    play.ledger.cancel_runs(TENANT, [run.run_id])
    [lost] = play.ledger.requeue_lost(ANY_SILENCE)
    assert lost.state is RunState.CANCELLED
    assert play.state(run) is RunState.CANCELLED


def test_what_was_reported_is_left_to_the_recorder(play: Play) -> None:
    reported, not_reported = play.due(), play.due()
    claim = uuid4()
    claimed = play.start(reported, claim=claim)
    play.start(not_reported)
    play.ledger.mark_reported([claim, uuid4()])
    play.ledger.mark_reported([claim])
    lost = play.ledger.requeue_lost(ANY_SILENCE)
    assert [each.run_id for each in lost] == [not_reported.run_id]
    assert play.end(claimed).recorded is Recorded.ACCEPTED


def test_runs_that_have_ended_are_not_lost(play: Play) -> None:
    ended, running = play.due(), play.due()
    answer = play.claim(ended, running)
    play.end(next(each for each in answer.claimed if each.run_id == ended.run_id))
    lost = play.ledger.requeue_lost(ANY_SILENCE)
    assert [each.run_id for each in lost] == [running.run_id]
    assert play.state(ended) is RunState.SUCCESS


def test_a_run_that_another_worker_has_by_now_is_not_lost_with_the_first(play: Play) -> None:
    run = play.due()
    play.end(play.start(run, worker="w1"), Verdict.RELEASED)
    play.start(run, worker="w2")
    lost = play.ledger.requeue_lost(ANY_SILENCE)
    assert [each.run_id for each in lost] == [run.run_id]
    assert play.seen(run).losses == 1


def test_nobody_lost_is_nothing_done(play: Play) -> None:
    assert play.ledger.requeue_lost(ANY_SILENCE) == []


@on_every_version
def test_whoever_waits_for_a_run_that_its_losses_ended_is_told_at_once(play: Play) -> None:
    upstream = one_off(play.at(-1))
    dependent = following(upstream)
    play.submit(upstream, dependent)
    run = play.only_run(upstream)
    lost: list[Settled] = []
    for _ in range(5):
        play.start(run)
        lost = play.ledger.requeue_lost(ANY_SILENCE)
    told = {each.run_id: each.state for each in lost}
    waiting = play.only_run(dependent)
    assert told == {run.run_id: RunState.FAILED, waiting.run_id: RunState.SKIPPED}
    assert waiting.reason is SkipReason.UPSTREAM_FAILED


@on_every_version
def test_a_silent_worker_is_named_once(play: Play) -> None:
    play.ledger.heartbeat("w1", "tasks", 4)
    assert play.ledger.forget_workers(timedelta(seconds=60)) == []
    [silent] = play.ledger.forget_workers(ANY_SILENCE)
    assert (silent.worker_id, silent.pool) == ("w1", "tasks")
    assert silent.heartbeat_at <= play.ledger.now()
    assert play.ledger.forget_workers(ANY_SILENCE) == []


def test_a_silent_worker_is_not_forgotten_before_its_runs_are_taken_back(play: Play) -> None:
    play.start(play.due())
    assert play.ledger.forget_workers(ANY_SILENCE) == []
    assert len(play.ledger.requeue_lost(ANY_SILENCE)) == 1
    assert [each.worker_id for each in play.ledger.forget_workers(ANY_SILENCE)] == ["w1"]
