"""Claim: one worker gets a run, under a fence that only rises; everybody else gets a reason."""

from typing import Any
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import OnAmbiguous, Overlap
from lamplighter.domain.run import Claimed, Refusal, Ticket, Verdict
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_claim_returns_all_that_it_takes_to_run(play: Play) -> None:
    target = {"type": "http", "url": "https://example.org"}
    run = play.due(
        name="bill", target=target, payload=[1, {"a": None}], priority=2, timeout_seconds=9
    )
    answer = play.claim(run)
    expected = Claimed(
        run.run_id, run.job_id, TENANT, "default", 1, 1, run.due_at, "bill", 2, 9, target,
        [1, {"a": None}],
    )  # fmt: skip
    assert answer.claimed == [expected]
    assert (answer.refused, answer.cancelled) == ({}, [])
    after = play.seen(run)
    assert (after.state, after.fence, after.executor_id) == (RunState.RUNNING, 1, "w1")
    assert after.start_time is not None
    assert after.wake_at is None


def test_a_claim_by_an_edited_job_returns_the_edit(play: Play) -> None:
    run = play.due(payload="old")
    job = play.job(run.job_id)
    edited: dict[str, Any] = {"payload": "new", "name": "renamed", "timeout_seconds": 5}
    after = msgspec.structs.replace(job, **edited)
    play.ledger.reschedule(after, expected_version=1, first_fire=None, next_fire=None)
    claimed = play.start(run)
    assert (claimed.payload, claimed.name, claimed.timeout_seconds) == ("new", "renamed", 5)


def test_a_run_is_claimed_once(play: Play) -> None:
    run = play.due()
    ticket = Ticket(run.run_id, 0)
    play.ledger.claim("w1", uuid4(), [ticket])
    assert play.ledger.claim("w2", uuid4(), [ticket]).refused == {run.run_id: Refusal.TAKEN}
    assert play.claim(run, worker="w2").refused == {run.run_id: Refusal.TAKEN}
    assert play.seen(run).executor_id == "w1"


def test_an_old_fence_claims_nothing(play: Play) -> None:
    run = play.due()
    play.end(play.start(run), Verdict.RELEASED)
    answer = play.ledger.claim("w2", uuid4(), [Ticket(run.run_id, 0)])
    assert answer.refused == {run.run_id: Refusal.TAKEN}
    assert play.start(run, worker="w2").fence == 2


def test_an_unknown_run_is_gone(play: Play) -> None:
    nowhere = run_id(uuid4(), play.at(), "default")
    answer = play.ledger.claim("w1", uuid4(), [Ticket(nowhere, 0)])
    assert answer.refused == {nowhere: Refusal.GONE}


def test_a_run_whose_job_was_rescheduled_away_is_gone(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    play.ledger.cancel_job(TENANT, run.job_id)
    answer = play.ledger.claim("w1", uuid4(), [Ticket(run.run_id, 0)])
    assert answer.refused == {run.run_id: Refusal.GONE}


def test_an_ended_run_is_ended(play: Play) -> None:
    run = play.finish(play.due())
    assert play.claim(run).refused == {run.run_id: Refusal.ENDED}


def test_a_run_that_is_early_goes_back(play: Play) -> None:
    run = play.submitted(one_off(play.at(30)))
    assert play.claim(run).refused == {run.run_id: Refusal.EARLY}
    assert play.seen(run) == run


def test_a_run_that_is_early_by_jitter_goes_back(play: Play) -> None:
    run = play.submitted(hourly(play.at(-0.1), timing={"jitter_seconds": 86_400.0}))
    assert play.claim(run).refused == {run.run_id: Refusal.EARLY}


def test_a_run_that_is_early_by_less_than_a_second_is_given(play: Play) -> None:
    run = play.submitted(one_off(play.at(0.8)))
    assert play.start(run).run_id == run.run_id


def test_a_run_that_waits_for_upstreams_is_blocked(play: Play) -> None:
    upstream = one_off(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    run = play.only_run(job)
    assert play.claim(run).refused == {run.run_id: Refusal.BLOCKED}


def test_a_run_that_waits_for_a_slot_is_parked(play: Play) -> None:
    first = play.due(max_concurrency=1)
    second = play.again(first)
    play.start(first)
    assert play.claim(second).refused == {second.run_id: Refusal.PARKED}
    assert play.claim(second).refused == {second.run_id: Refusal.PARKED}


def test_a_run_that_a_claim_has_skipped_says_so_once(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.pause(TENANT, run.job_id)
    assert play.claim(run).refused == {run.run_id: Refusal.SKIPPED}
    assert play.claim(run).refused == {run.run_id: Refusal.ENDED}


def test_a_held_run_is_nobodys_to_claim(play: Play) -> None:
    run = play.due(policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    assert play.state(run) is RunState.HELD
    assert play.claim(run).refused == {run.run_id: Refusal.TAKEN}


@on_every_version
def test_a_repeated_claim_has_the_same_answer(play: Play) -> None:
    runs = [play.due() for _ in range(3)]
    tickets = [Ticket(run.run_id, 0) for run in runs]
    claim = uuid4()
    first = play.ledger.claim("w1", claim, tickets)
    assert play.ledger.claim("w1", claim, tickets) == first
    assert all(play.seen(run).fence == 1 for run in runs)


def test_a_repeated_claim_leaves_out_what_has_ended_since(play: Play) -> None:
    run, ended = play.due(), play.due()
    tickets = [Ticket(run.run_id, 0), Ticket(ended.run_id, 0)]
    claim = uuid4()
    answer = play.ledger.claim("w1", claim, tickets)
    given = next(claimed for claimed in answer.claimed if claimed.run_id == ended.run_id)
    play.end(given)
    again = play.ledger.claim("w1", claim, tickets)
    assert [claimed.run_id for claimed in again.claimed] == [run.run_id]
    assert again.refused == {ended.run_id: Refusal.ENDED}


@pytest.mark.parametrize("keyed", [{"max_concurrency": 1}, {"overlap": Overlap.FORBID}])
def test_a_run_of_a_keyed_job_is_given_again_too(play: Play, keyed: dict[str, Any]) -> None:
    run = play.due(**keyed)
    claim = uuid4()
    first = play.ledger.claim("w1", claim, [Ticket(run.run_id, 0)])
    assert play.ledger.claim("w1", claim, [Ticket(run.run_id, 0)]) == first


def test_a_batch_is_answered_run_by_run(play: Play) -> None:
    given = [play.due() for _ in range(3)]
    early, over = play.submitted(one_off(play.at(60))), play.finish(play.due())
    answer = play.claim(early, *given, over)
    assert {claimed.run_id for claimed in answer.claimed} == {run.run_id for run in given}
    assert answer.refused == {early.run_id: Refusal.EARLY, over.run_id: Refusal.ENDED}


def test_two_tickets_for_one_run_give_it_once(play: Play) -> None:
    run = play.due()
    answer = play.ledger.claim("w1", uuid4(), [Ticket(run.run_id, 0), Ticket(run.run_id, 0)])
    assert [claimed.run_id for claimed in answer.claimed] == [run.run_id]
    assert answer.refused == {}


def test_claiming_nothing_is_a_heartbeat(ledger: Ledger) -> None:
    answer = ledger.claim("w1", uuid4(), [])
    assert (answer.claimed, answer.refused, answer.cancelled) == ([], {}, [])


@pytest.mark.parametrize("ask", ["heartbeat", "claim"])
def test_a_worker_hears_which_of_its_runs_to_stop(play: Play, ask: str) -> None:
    mine, theirs, finished = play.due(), play.due(), play.due()
    play.claim(mine, worker="w1")
    play.claim(theirs, worker="w2")
    done = play.start(finished, worker="w1")
    play.ledger.cancel_runs(TENANT, [mine.run_id, theirs.run_id, finished.run_id])
    play.end(done, Verdict.CANCELLED)
    if ask == "heartbeat":
        told = play.ledger.heartbeat("w1", "default", 4)
    else:
        told = play.ledger.claim("w1", uuid4(), []).cancelled
    assert told == [mine.run_id]


def test_a_run_of_a_job_that_is_cancelled_meanwhile_ends_at_the_claim(play: Play) -> None:
    """Written by a plan that came between: the claim is the last to look."""
    run = play.due_hourly()
    play.ledger.cancel_job(TENANT, run.job_id)
    assert play.claim(run).refused == {run.run_id: Refusal.ENDED}
    assert play.seen(run).reason is not SkipReason.OVERLAP
