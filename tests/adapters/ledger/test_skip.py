"""Skip: runs that have not started end with a reason, by somebody's decision."""

from uuid import uuid4

import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Recorded, Run, Verdict
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import following, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
@pytest.mark.parametrize("reason", SkipReason)
def test_a_skipped_run_says_why(play: Play, reason: SkipReason) -> None:
    run = play.due()
    [settled] = play.ledger.skip([run.run_id], reason)
    assert (settled.recorded, settled.state) == (Recorded.ACCEPTED, RunState.SKIPPED)
    after = play.seen(run)
    assert (after.state, after.reason, after.wake_at) == (RunState.SKIPPED, reason, None)
    assert after.end_time is not None


def test_skipping_twice_skips_once(play: Play) -> None:
    run = play.due()
    play.ledger.skip([run.run_id], SkipReason.EXPIRED)
    before = play.seen(run)
    [again] = play.ledger.skip([run.run_id], SkipReason.EXPIRED)
    assert (again.recorded, again.state) == (Recorded.REPEATED, RunState.SKIPPED)
    [other] = play.ledger.skip([run.run_id], SkipReason.PAUSED)
    assert (other.recorded, other.state) == (Recorded.STALE, RunState.SKIPPED)
    assert play.seen(run) == before


def blocked(play: Play) -> Run:
    upstream = one_off(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    return play.only_run(job)


def parked(play: Play) -> Run:
    first = play.due(max_concurrency=1)
    play.start(first)
    second = play.again(first)
    play.claim(second)
    return second


@pytest.mark.parametrize("waiting", [blocked, parked], ids=["blocked", "parked"])
def test_what_waits_for_others_can_be_skipped(play: Play, waiting: object) -> None:
    run = blocked(play) if waiting is blocked else parked(play)
    play.ledger.skip([run.run_id], SkipReason.UPSTREAM_MISSING)
    assert play.state(run) is RunState.SKIPPED


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.RETRYING, RunState.SUCCESS])
def test_what_has_started_cannot_be_skipped(play: Play, state: RunState) -> None:
    run = play.due()
    claimed = play.start(run)
    if state is RunState.RETRYING:
        play.end(claimed, Verdict.FAILED)
    elif state is RunState.SUCCESS:
        play.end(claimed)
    [settled] = play.ledger.skip([run.run_id], SkipReason.EXPIRED)
    assert (settled.recorded, settled.state) == (Recorded.STALE, state)
    assert play.state(run) is state


def test_an_unknown_run_cannot_be_skipped(play: Play) -> None:
    nowhere = run_id(uuid4(), play.at(), "default")
    [settled] = play.ledger.skip([nowhere], SkipReason.EXPIRED)
    assert (settled.job_id, settled.recorded, settled.state) == (None, Recorded.STALE, None)


def test_nothing_asked_is_nothing_skipped(ledger: Ledger) -> None:
    assert ledger.skip([], SkipReason.EXPIRED) == []
