"""What only a clock that can be wound shows in good time: hours, days, a week."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Backoff, OnAmbiguous
from lamplighter.domain.run import Recorded, Refusal, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import following, hourly, one_off
from tests.adapters.ledger.play import A_MINUTE, ANY_SILENCE, Play

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SILENCE = timedelta(seconds=15)


@pytest.fixture
def clock() -> WoundClock:
    return WoundClock(NOON)


@pytest.fixture
def timed(clock: WoundClock) -> Play:
    return Play(MemoryLedger(clock=clock, draw=lambda: 0.5))


def test_a_run_starts_when_its_time_has_come(timed: Play, clock: WoundClock) -> None:
    run = timed.submitted(one_off(timed.at(3600)))
    assert timed.claim(run).refused == {run.run_id: Refusal.EARLY}
    clock.wind(timedelta(hours=1))
    assert timed.start(run).due_at == NOON + timedelta(hours=1)


def test_a_worker_is_lost_once_it_has_been_silent_for_so_long(
    timed: Play, clock: WoundClock
) -> None:
    run = timed.due()
    timed.start(run)
    clock.wind(SILENCE)
    assert timed.ledger.requeue_lost(SILENCE) == []
    clock.wind(timedelta(seconds=1))
    assert [each.run_id for each in timed.ledger.requeue_lost(SILENCE)] == [run.run_id]


def test_what_was_reported_and_never_recorded_is_run_again(timed: Play, clock: WoundClock) -> None:
    """Though its worker lives and beats: it has nothing left to say about this run."""
    run, claim = timed.due(), uuid4()
    old = timed.start(run, claim=claim)
    timed.ledger.mark_reported([claim])
    clock.wind(timedelta(minutes=10))
    timed.ledger.heartbeat("w1", "default", 1)
    assert timed.ledger.requeue_lost(SILENCE) == []
    clock.wind(timedelta(seconds=1))
    timed.ledger.heartbeat("w1", "default", 1)
    assert [each.run_id for each in timed.ledger.requeue_lost(SILENCE)] == [run.run_id]
    assert timed.end(old).recorded is Recorded.STALE


def test_a_later_claim_of_the_same_run_is_not_lost_with_the_first(
    timed: Play, clock: WoundClock
) -> None:
    """By the same worker, whose first claim was reported long ago."""
    run, first = timed.due(), uuid4()
    timed.end(timed.start(run, claim=first), Verdict.FAILED)
    timed.ledger.mark_reported([first])
    clock.wind(timedelta(minutes=11))
    timed.start(run)
    assert timed.ledger.requeue_lost(SILENCE) == []
    assert timed.state(run) is RunState.RUNNING


def test_a_week_without_a_decision_ends_a_held_run(timed: Play, clock: WoundClock) -> None:
    run = timed.due(policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    timed.start(run)
    timed.ledger.requeue_lost(ANY_SILENCE)
    clock.wind(timedelta(days=7) - timedelta(seconds=1))
    assert timed.ledger.settle_overdue() == []
    clock.wind(timedelta(seconds=1))
    [settled] = timed.ledger.settle_overdue()
    assert (settled.run_id, settled.state) == (run.run_id, RunState.FAILED)
    assert timed.seen(run).error_message == "held for a week, and nobody decided"


def test_a_blocked_run_ends_a_day_after_its_fire(timed: Play, clock: WoundClock) -> None:
    upstream = hourly(timed.at(3600))
    job = following(upstream)
    timed.submit(upstream, job)
    clock.wind(timedelta(hours=25) - timedelta(seconds=1))
    assert timed.ledger.settle_overdue() == []
    clock.wind(timedelta(seconds=1))
    assert len(timed.ledger.settle_overdue()) == 1
    assert timed.only_run(job).reason is SkipReason.UPSTREAM_MISSING


def test_only_so_many_overdue_runs_are_settled_at_once(timed: Play, clock: WoundClock) -> None:
    upstream = hourly(timed.at(60))
    timed.submit(upstream, *(following(upstream) for _ in range(5)))
    clock.wind(timedelta(days=2))
    assert [len(timed.ledger.settle_overdue(limit=2)) for _ in range(4)] == [2, 2, 1, 0]


def test_a_retry_is_spread_by_the_draw(timed: Play) -> None:
    run = timed.due(policy=Policy(backoff=Backoff(base_seconds=60)))
    settled = timed.end(timed.start(run), Verdict.FAILED)
    assert settled.wake_at == NOON + timedelta(seconds=30)


def test_a_lease_runs_out(timed: Play, clock: WoundClock) -> None:
    timed.lease("one")
    clock.wind(A_MINUTE)
    assert timed.lease("two").epoch == 2


def test_the_watermark_trails_by_five_seconds(timed: Play, clock: WoundClock) -> None:
    run = timed.due()
    lease = timed.lease()
    clock.wind(timedelta(seconds=4))
    assert timed.ledger.advance_watermark(lease, NOON).watermark < NOON
    clock.wind(timedelta(seconds=1))
    assert timed.ledger.advance_watermark(lease, NOON).watermark == NOON
    assert timed.seen(run).wake_at == NOON + timedelta(seconds=5)


def test_a_year_of_days_is_kept_apart(timed: Play, clock: WoundClock) -> None:
    job = hourly(timed.at(-1))
    first = timed.finish(timed.submitted(job))
    clock.wind(timedelta(days=365))
    gone = timed.ledger.drop_partitions(clock() - timedelta(days=30))
    assert gone[0] == "job_runs_20260503"
    assert timed.runs(job) == []
    assert first.fire_at < NOON
