"""Concurrency and order: who gets a slot, who waits, and who is woken when one is free."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Refusal, Run, Ticket, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


def sharing(play: Play, runs: int, limit: int, **fields: Any) -> list[Run]:
    """Runs of as many jobs that share a key, by fire."""
    fires = [play.at(-1 + n / 100) for n in range(runs)]
    keyed = {"concurrency_key": "bank", "max_concurrency": limit, **fields}
    return [play.submitted(one_off(fire, **keyed)) for fire in fires]


@on_every_version
def test_no_more_run_than_the_limit_allows(play: Play) -> None:
    runs = sharing(play, 5, limit=3)
    answer = play.claim(*runs)
    assert [claimed.run_id for claimed in answer.claimed] == [run.run_id for run in runs[:3]]
    assert answer.refused == {run.run_id: Refusal.PARKED for run in runs[3:]}
    for run in runs[3:]:
        parked = play.seen(run)
        assert (parked.state, parked.wake_at, parked.excused) == (RunState.PARKED, None, True)


@on_every_version
@pytest.mark.parametrize("verdict", [Verdict.SUCCESS, Verdict.FAILED, Verdict.RELEASED])
def test_whoever_leaves_hands_the_slot_to_the_first_in_line(play: Play, verdict: Verdict) -> None:
    first, second, third = sharing(play, 3, limit=1)
    claimed = play.start(first)
    play.claim(third)
    play.claim(second)
    play.end(claimed, verdict)
    woken = play.seen(second)
    assert woken.state is RunState.SCHEDULED
    assert woken.wake_at is not None
    assert play.state(third) is RunState.PARKED
    assert play.claim(third).refused == {third.run_id: Refusal.PARKED}
    assert play.start(second).run_id == second.run_id


def test_the_slot_that_was_handed_over_cannot_be_snatched(play: Play) -> None:
    first, second, late = sharing(play, 3, limit=1)
    claimed = play.start(first)
    play.claim(second)
    play.end(claimed)
    assert play.claim(late).refused == {late.run_id: Refusal.PARKED}
    assert play.start(second).run_id == second.run_id


def test_a_job_may_limit_itself_without_a_key(play: Play) -> None:
    first = play.due(max_concurrency=1)
    second, other = play.again(first), play.due(max_concurrency=1)
    answer = play.claim(first, second, other)
    assert answer.refused == {second.run_id: Refusal.PARKED}


def test_tenants_do_not_share_keys(play: Play) -> None:
    [mine] = sharing(play, 1, limit=1)
    theirs = one_off(play.at(-1), tenant=OTHER_TENANT, concurrency_key="bank", max_concurrency=1)
    [due] = play.submit(theirs).runs
    play.start(mine)
    answer = play.ledger.claim("w2", uuid4(), [Ticket(due.run_id, 0)])
    assert [claimed.run_id for claimed in answer.claimed] == [due.run_id]


@pytest.mark.parametrize("wait", ["retry", "requeue"])
def test_a_run_that_waits_again_frees_its_place_under_the_limit(play: Play, wait: str) -> None:
    first, second = sharing(play, 2, limit=1)
    claimed = play.start(first)
    play.claim(second, worker="w2")
    if wait == "retry":
        play.end(claimed, Verdict.FAILED)
    else:
        play.ledger.requeue_lost(ANY_SILENCE)
    assert play.state(second) is RunState.SCHEDULED
    play.start(second, worker="w2")
    assert play.claim(first, worker="w2").refused == {first.run_id: Refusal.PARKED}


def test_a_retry_that_was_parked_is_woken_as_a_retry(play: Play) -> None:
    first, second = sharing(play, 2, limit=1)
    claimed = play.start(first)
    play.claim(second, worker="w2")
    play.end(claimed, Verdict.FAILED)
    other = play.start(second, worker="w2")
    assert play.claim(first).refused == {first.run_id: Refusal.PARKED}
    play.end(other)
    woken = play.seen(first)
    assert (woken.state, woken.attempt_number) == (RunState.RETRYING, 2)
    assert woken.wake_at is not None
    assert play.start(first).attempt == 2


def test_a_repeated_report_is_known_though_the_run_was_parked_since(play: Play) -> None:
    first, second = sharing(play, 2, limit=1)
    claimed = play.start(first)
    play.claim(second, worker="w2")
    play.end(claimed, Verdict.FAILED)
    play.start(second, worker="w2")
    play.claim(first)
    assert play.end(claimed, Verdict.FAILED).state is RunState.PARKED


@on_every_version
def test_order_is_kept_by_fire_however_the_messages_come(play: Play) -> None:
    early_fire, late_fire = play.at(-1), play.at(-0.2)
    late = play.submitted(one_off(late_fire, ordering_key="customer-1"))
    early = play.submitted(one_off(early_fire, ordering_key="customer-1"))
    assert play.claim(late).refused == {late.run_id: Refusal.PARKED}
    claimed = play.start(early)
    assert play.state(late) is RunState.PARKED
    play.end(claimed)
    assert play.finish(late).state is RunState.SUCCESS


def test_order_among_equal_fires_is_that_of_submission(play: Play) -> None:
    fire = play.at(-1)
    runs = [play.submitted(one_off(fire, ordering_key="customer-1")) for _ in range(4)]
    for run in runs:
        for later in runs[runs.index(run) + 1 :]:
            assert play.claim(later).refused == {later.run_id: Refusal.PARKED}
        play.finish(run)


@pytest.mark.parametrize("wait", ["retry", "requeue", "release"])
def test_order_holds_while_the_first_waits_for_its_next_attempt(play: Play, wait: str) -> None:
    first = play.submitted(one_off(play.at(-1), ordering_key="customer-1"))
    second = play.submitted(one_off(play.at(-0.5), ordering_key="customer-1"))
    claimed = play.start(first)
    play.claim(second)
    if wait == "requeue":
        play.ledger.requeue_lost(ANY_SILENCE)
    else:
        play.end(claimed, Verdict.FAILED if wait == "retry" else Verdict.RELEASED)
    assert play.state(second) is RunState.PARKED
    play.finish(first)
    assert play.state(second) is RunState.SCHEDULED


def test_a_blocked_run_keeps_its_place_in_the_order(play: Play) -> None:
    upstream = one_off(play.at(-2))
    blocked = following(upstream, ordering_key="customer-1")
    play.submit(upstream, blocked)
    later = play.submitted(one_off(play.at(-0.5), ordering_key="customer-1"))
    assert play.claim(later).refused == {later.run_id: Refusal.PARKED}
    play.ledger.cancel_runs(TENANT, [play.only_run(blocked).run_id])
    assert play.state(later) is RunState.SCHEDULED


def test_a_parked_run_that_is_cancelled_is_not_handed_a_slot(play: Play) -> None:
    first, second, third = sharing(play, 3, limit=1)
    claimed = play.start(first)
    play.claim(second, third)
    play.ledger.cancel_runs(TENANT, [second.run_id])
    play.end(claimed)
    assert play.state(second) is RunState.CANCELLED
    assert play.state(third) is RunState.SCHEDULED


def test_a_woken_run_that_is_cancelled_hands_its_slot_on(play: Play) -> None:
    first, second, third = sharing(play, 3, limit=1)
    claimed = play.start(first)
    play.claim(second, third)
    play.end(claimed)
    assert play.state(second) is RunState.SCHEDULED
    play.ledger.cancel_runs(TENANT, [second.run_id])
    assert play.state(third) is RunState.SCHEDULED


def backfilled(play: Play, job_id: UUID, fires: int, at_once: int) -> list[UUID]:
    origin = f"backfill:1:at_once={at_once}"
    past = [play.at(-7200 + 60 * n) for n in range(fires)]
    play.ledger.add_runs(TENANT, job_id, origin, past)
    return [run_id(job_id, fire, "default", origin) for fire in past]


@on_every_version
@pytest.mark.parametrize("overlap", list(Overlap))
def test_a_backfill_has_a_lane_of_its_own_with_a_budget(play: Play, overlap: Overlap) -> None:
    running = play.submitted(hourly(play.at(-1), overlap=overlap))
    play.start(running)
    ids = backfilled(play, running.job_id, 3, at_once=2)

    answer = play.claim(*ids)
    assert {claimed.run_id for claimed in answer.claimed} == set(ids[:2])
    assert answer.refused == {ids[2]: Refusal.PARKED}
    assert play.state(running) is RunState.RUNNING

    play.end(answer.claimed[0])
    assert play.state(ids[2]) is RunState.SCHEDULED
    assert play.start(ids[2]).run_id == ids[2]


@on_every_version
def test_a_backfill_keeps_to_the_order_and_the_limit_of_its_job(play: Play) -> None:
    ordered = play.submitted(hourly(play.at(-1), ordering_key="k"))
    first, second = backfilled(play, ordered.job_id, 2, at_once=1)
    assert play.claim(second).refused == {second: Refusal.PARKED}
    assert play.claim(ordered).refused == {ordered.run_id: Refusal.PARKED}
    claimed = play.start(first)
    limited = play.submitted(hourly(play.at(-1), max_concurrency=1))
    alone, other = backfilled(play, limited.job_id, 2, at_once=2)
    play.start(alone)
    assert play.claim(other).refused == {other: Refusal.PARKED}

    play.end(claimed)
    assert play.start(second).run_id == second
    assert play.state(ordered) is RunState.PARKED
