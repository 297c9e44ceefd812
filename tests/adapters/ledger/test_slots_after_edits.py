"""Limits and keys that change while runs hold them or wait for them."""

from typing import Any

import msgspec
import pytest

from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Refusal, Run, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import one_off
from tests.adapters.ledger.play import Play


def edit(play: Play, run: Run, **fields: Any) -> None:
    job = play.job(run.job_id)
    after = msgspec.structs.replace(job, **fields)
    play.ledger.reschedule(after, expected_version=job.version, first_fire=None, next_fire=None)


def several(play: Play, runs: int, **fields: Any) -> list[Run]:
    """Runs of one job, by fire."""
    first = play.due(**fields)
    rest = [play.again(first, -0.9 + n / 10, f"now:{n}") for n in range(1, runs)]
    return [first, *rest]


@pytest.mark.parametrize("limit", [3, None])
def test_a_wider_limit_wakes_those_that_wait(play: Play, limit: int | None) -> None:
    first, *others = several(play, 3, max_concurrency=1)
    play.start(first)
    play.claim(*others)
    assert {play.state(run) for run in others} == {RunState.PARKED}
    edit(play, first, max_concurrency=limit)
    assert {play.state(run) for run in others} == {RunState.SCHEDULED}
    assert len(play.claim(*others).claimed) == 2


def test_a_narrower_limit_holds_for_whoever_comes_next(play: Play) -> None:
    first, second, third, fourth = several(play, 4, max_concurrency=3)
    answer = play.claim(first, second, third)
    edit(play, first, max_concurrency=1)
    by_run = {claimed.run_id: claimed for claimed in answer.claimed}
    play.end(by_run[first.run_id])
    assert play.claim(fourth).refused == {fourth.run_id: Refusal.PARKED}
    play.end(by_run[second.run_id])
    assert play.state(fourth) is RunState.PARKED
    play.end(by_run[third.run_id])
    assert play.state(fourth) is RunState.SCHEDULED


def test_a_job_that_gives_up_its_order_frees_those_that_wait_by_it(play: Play) -> None:
    first, *others = several(play, 3, ordering_key="customer-1")
    play.start(first)
    play.claim(*others)
    edit(play, first, ordering_key=None)
    assert {play.state(run) for run in others} == {RunState.SCHEDULED}


def test_two_jobs_that_swap_their_keys_do_not_wait_for_each_other(play: Play) -> None:
    left = play.submitted(one_off(play.at(-1), ordering_key="a"))
    right = play.submitted(one_off(play.at(-1), ordering_key="b"))
    edit(play, left, ordering_key="b")
    edit(play, right, ordering_key="a")
    assert len(play.claim(left, right).claimed) == 2


def test_retries_of_jobs_that_swapped_their_keys_do_not_wait_for_each_other(play: Play) -> None:
    left = play.submitted(one_off(play.at(-1), ordering_key="a"))
    right = play.submitted(one_off(play.at(-1), ordering_key="b"))
    claimed = play.claim(left, right).claimed
    edit(play, left, ordering_key="b")
    edit(play, right, ordering_key="a")
    for each in claimed:
        play.end(each, Verdict.FAILED)
    assert len(play.claim(left, right).claimed) == 2


def test_a_retry_that_an_edit_has_made_overlap_ends_without_being_skipped(play: Play) -> None:
    """It has run, so it cannot be said that it was skipped."""
    first, second = several(play, 2)
    play.end(play.start(first), Verdict.FAILED)
    edit(play, first, overlap=Overlap.FORBID)
    play.start(second)
    answer = play.claim(first)
    assert answer.claimed == []
    assert play.state(first) is RunState.CANCELLED
