"""Backfill: a lane of its own with a budget, beside whatever the schedule does meanwhile."""

from typing import Any

import msgspec
import pytest

from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Refusal, Run, Verdict
from lamplighter.domain.slots import backfill_origin
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import TENANT, hourly
from tests.adapters.ledger.play import Play, at_once
from tests.adapters.ledger.stores import on_every_version

OVERLAPS = list(Overlap)


def backfilled(play: Play, runs: int, origin: str, **fields: Any) -> list[Run]:
    """As many past fires of one hourly job, oldest first."""
    job = hourly(play.at(3000), **fields)
    play.submit(job)
    return [play.again(play.runs(job)[0], -86_400 + 3600 * n, origin) for n in range(runs)]


def at_work(play: Play, runs: list[Run]) -> list[Run]:
    return [run for run in runs if play.state(run) is RunState.RUNNING]


@on_every_version
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_no_more_of_a_backfill_run_at_once_than_its_budget(play: Play, overlap: Overlap) -> None:
    runs = backfilled(play, 5, backfill_origin("b", 2), overlap=overlap)
    answer = play.claim(*runs)
    assert [claimed.run_id for claimed in answer.claimed] == [run.run_id for run in runs[:2]]
    assert answer.refused == {run.run_id: Refusal.PARKED for run in runs[2:]}


def test_only_as_many_of_a_backfill_come_to_the_workers_as_its_budget_lets_start(
    play: Play,
) -> None:
    """The others wait in their lane from the start: to be told so by a worker keeps others late."""
    job = hourly(play.at(3000))
    play.submit(job)
    fires = [play.at(-86_400 + 3600 * n) for n in range(5)]
    first = play.ledger.add_runs(TENANT, job.job.job_id, backfill_origin("b", 2), fires)
    assert [fire_of(due.run_id) for due in first] == fires[:2]
    past = sorted((r for r in play.runs(job) if r.fire_at < play.at(0)), key=lambda r: r.fire_at)
    assert [run.state for run in past] == [RunState.SCHEDULED] * 2 + [RunState.PARKED] * 3
    assert [run.wake_at is None for run in past] == [False] * 2 + [True] * 3


def test_asked_again_a_backfill_gets_no_more_places_than_its_budget(play: Play) -> None:
    job = hourly(play.at(3000))
    play.submit(job)
    fires = [play.at(-86_400 + 3600 * n) for n in range(5)]
    once, again = (
        play.ledger.add_runs(TENANT, job.job.job_id, backfill_origin("b", 2), fires)
        for _ in range(2)
    )
    assert [due.run_id for due in again] == [due.run_id for due in once]


def test_a_pool_without_workers_keeps_no_places_of_a_lane(play: Play) -> None:
    """Who runs in several pools takes a place at the claim: a run that nobody claims has none."""
    job = hourly(play.at(3000), policy=Policy(fan_out=("a", "b")))
    play.submit(job)
    fires = [play.at(-86_400 + 3600 * n) for n in range(3)]
    due = play.ledger.add_runs(TENANT, job.job.job_id, backfill_origin("b", 1), fires)
    here = [each.run_id for each in due if each.pool == "a"]
    for run_id in here:
        assert play.finish(play.seen(run_id)).state is RunState.SUCCESS
    assert len(here) == 3


def test_what_waits_in_a_lane_expires_there(play: Play) -> None:
    _, *others = backfilled(play, 3, backfill_origin("b", 1), start_deadline_seconds=60)
    settled = {each.run_id: each.state for each in play.ledger.settle_overdue()}
    assert settled == {run.run_id: RunState.SKIPPED for run in others}


def test_what_waited_in_a_lane_is_excused_for_being_late(play: Play) -> None:
    first, second = backfilled(play, 2, backfill_origin("b", 1))
    play.finish(first)
    assert play.seen(second).excused


@on_every_version
def test_a_job_that_becomes_ordered_in_mid_backfill_ends_it(play: Play) -> None:
    """The order is taken before the lane: who holds a place in the lane must not wait for it."""
    first, second, third = backfilled(play, 3, backfill_origin("b", 1))
    job = play.job(first.job_id)
    ordered = msgspec.structs.replace(job, ordering_key="k")
    play.ledger.reschedule(ordered, expected_version=job.version, first_fire=None, next_fire=None)
    play.end(play.start(first), Verdict.FAILED)
    play.claim(second)
    for run in (first, second, third):
        assert play.finish(run).state is RunState.SUCCESS


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_every_run_of_a_backfill_runs_whatever_the_overlap_policy(
    play: Play, overlap: Overlap
) -> None:
    runs = backfilled(play, 5, backfill_origin("b", 2), overlap=overlap)
    while waiting := [run for run in runs if not play.state(run).is_final]:
        claimed = play.claim(*waiting).claimed
        assert len(at_work(play, runs)) == len(claimed) == min(2, len(waiting))
        for each in claimed:
            play.end(each)
    assert {play.state(run) for run in runs} == {RunState.SUCCESS}


@on_every_version
def test_the_budget_holds_when_many_claim_at_once(play: Play) -> None:
    runs = backfilled(play, 6, backfill_origin("b", 2), overlap=Overlap.FORBID)
    at_once(lambda run: play.claim(run, worker=str(run.run_id)), runs)
    assert len(at_work(play, runs)) == 2


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_a_fire_of_the_schedule_neither_waits_for_a_backfill_nor_stops_it(
    play: Play, overlap: Overlap
) -> None:
    fire = play.due_hourly(overlap=overlap)
    past = [play.again(fire, -86_400 - 3600 * n, backfill_origin("b", 1)) for n in range(2)]
    play.start(past[0])
    play.claim(past[1])

    play.finish(fire)

    assert [play.state(run) for run in (fire, *past)] == [
        RunState.SUCCESS,
        RunState.RUNNING,
        RunState.PARKED,
    ]


@pytest.mark.parametrize("overlap", OVERLAPS)
def test_a_backfill_neither_waits_for_a_fire_of_the_schedule_nor_stops_it(
    play: Play, overlap: Overlap
) -> None:
    fire = play.due_hourly(overlap=overlap)
    claimed = play.start(fire)
    past = play.again(fire, -86_400, backfill_origin("b", 1))
    assert play.start(past).run_id == past.run_id
    assert play.end(claimed).state is RunState.SUCCESS


def test_two_backfills_of_a_job_have_a_lane_each(play: Play) -> None:
    [first] = backfilled(play, 1, backfill_origin("a", 1))
    second = play.again(first, -90_000, backfill_origin("b", 1))
    assert len(play.claim(first, second).claimed) == 2


def test_a_run_that_is_to_be_tried_again_leaves_its_place_in_the_lane(play: Play) -> None:
    first, second = backfilled(play, 2, backfill_origin("b", 1))
    claimed = play.start(first)
    play.claim(second)
    assert play.end(claimed, Verdict.FAILED).state is RunState.RETRYING
    assert play.start(second).run_id == second.run_id
    assert play.claim(first).refused == {first.run_id: Refusal.PARKED}


def test_a_backfill_keeps_to_its_jobs_own_limit_as_well(play: Play) -> None:
    wide = backfilled(play, 4, backfill_origin("b", 3), max_concurrency=2)
    assert len(play.claim(*wide).claimed) == 2
    narrow = backfilled(play, 4, backfill_origin("c", 1), max_concurrency=2)
    assert len(play.claim(*narrow).claimed) == 1


def test_a_backfill_keeps_to_its_jobs_order_as_well(play: Play) -> None:
    first, second = backfilled(play, 2, backfill_origin("b", 2), ordering_key="k")
    assert play.claim(second).refused == {second.run_id: Refusal.PARKED}
    play.finish(first)
    assert play.start(second).run_id == second.run_id


def test_a_cancelled_run_hands_its_place_in_the_lane_on(play: Play) -> None:
    first, second = backfilled(play, 2, backfill_origin("b", 1))
    claimed = play.start(first)
    play.claim(second)
    play.ledger.cancel_runs(TENANT, [first.run_id])
    play.end(claimed, Verdict.CANCELLED)
    assert play.start(second).run_id == second.run_id
