"""What a fire does while an earlier run of the same job is unfinished: every policy."""

import re
from pathlib import Path

import pytest

from lamplighter.domain.job import Policy
from lamplighter.domain.policy import OnAmbiguous, Overlap
from lamplighter.domain.run import Refusal, Run, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import TENANT, following, hourly
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


def two_fires(play: Play, overlap: Overlap, **fields: object) -> tuple[Run, Run]:
    first = play.due_hourly(overlap=overlap, **fields)
    return first, play.again(first)


PAGE = (Path(__file__).parents[3] / "docs" / "semantics.md").read_text("utf-8")
[EXAMPLES] = re.findall(r"^```overlap\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_has_an_example_of_every_policy() -> None:
    told = [line.partition(":")[0] for line in EXAMPLES.splitlines()]
    assert sorted(told) == sorted(each.value for each in Overlap)


@pytest.mark.parametrize("example", EXAMPLES.splitlines())
def test_it_is_as_the_page_says(play: Play, example: str) -> None:
    policy = Overlap(example.partition(":")[0])
    first, second = two_fires(play, policy)
    play.start(first)
    play.claim(second)
    states = f"09:00 {play.state(first).name}, 10:00 {play.state(second).name}"
    assert f"{policy.value}: {states}" == example


def test_allow_lets_them_overlap(play: Play) -> None:
    first, second = two_fires(play, Overlap.ALLOW)
    play.start(first)
    play.start(second, worker="w2")
    assert (play.state(first), play.state(second)) == (RunState.RUNNING, RunState.RUNNING)


@on_every_version
def test_forbid_skips_the_later_fire(play: Play) -> None:
    first, second = two_fires(play, Overlap.FORBID)
    play.start(first)
    assert play.claim(second).refused == {second.run_id: Refusal.SKIPPED}
    after = play.seen(second)
    assert (after.state, after.reason) == (RunState.SKIPPED, SkipReason.OVERLAP)


def test_forbid_lets_the_next_fire_run_when_the_first_is_over(play: Play) -> None:
    first, second = two_fires(play, Overlap.FORBID)
    play.finish(first)
    assert play.start(second).run_id == second.run_id


def test_forbid_decides_within_a_batch_as_well(play: Play) -> None:
    first, second = two_fires(play, Overlap.FORBID)
    answer = play.claim(second, first)
    assert [claimed.run_id for claimed in answer.claimed] == [first.run_id]
    assert answer.refused == {second.run_id: Refusal.SKIPPED}


def test_forbid_starts_a_run_once_that_a_batch_has_twice(play: Play) -> None:
    """Delivered again, before the first one was claimed."""
    first, _ = two_fires(play, Overlap.FORBID)
    answer = play.claim(first, first)
    assert [claimed.run_id for claimed in answer.claimed] == [first.run_id]
    assert play.state(first) is RunState.RUNNING


@pytest.mark.parametrize("wait", ["retry", "hold", "requeue", "release"])
def test_forbid_holds_while_the_first_waits_for_its_next_attempt(play: Play, wait: str) -> None:
    on_ambiguous = OnAmbiguous.HOLD if wait == "hold" else OnAmbiguous.RETRY
    first, second = two_fires(play, Overlap.FORBID, policy=Policy(on_ambiguous=on_ambiguous))
    claimed = play.start(first)
    if wait in ("hold", "requeue"):
        play.ledger.requeue_lost(ANY_SILENCE)
    else:
        play.end(claimed, Verdict.FAILED if wait == "retry" else Verdict.RELEASED)
    assert play.claim(second, worker="w2").refused == {second.run_id: Refusal.SKIPPED}


def test_forbid_knows_each_pool_by_itself(play: Play) -> None:
    job = hourly(play.at(-1), overlap=Overlap.FORBID, policy=Policy(fan_out=("eu", "us")))
    play.submit(job)
    answer = play.claim(*play.runs(job))
    assert len(answer.claimed) == 2


@on_every_version
def test_queue_runs_them_one_after_the_other_by_fire(play: Play) -> None:
    first = play.due_hourly(overlap=Overlap.QUEUE)
    third, second = play.again(first, -0.2, "now:3"), play.again(first, -0.6, "now:2")
    claimed = play.start(first)
    for later in (third, second):
        assert play.claim(later).refused == {later.run_id: Refusal.PARKED}
    play.end(claimed)
    assert play.state(second) is RunState.SCHEDULED
    assert play.seen(second).wake_at is not None
    assert play.state(third) is RunState.PARKED
    play.finish(second)
    assert play.finish(third).state is RunState.SUCCESS


def test_queue_lets_nobody_overtake_though_the_slot_is_free(play: Play) -> None:
    first = play.due_hourly(overlap=Overlap.QUEUE)
    second = play.again(first)
    assert play.claim(second).refused == {second.run_id: Refusal.PARKED}
    play.finish(first)
    assert play.state(second) is RunState.SCHEDULED


@on_every_version
def test_replace_asks_the_running_one_to_stop(play: Play) -> None:
    first, second = two_fires(play, Overlap.REPLACE)
    claimed = play.start(first, worker="w1")
    assert play.claim(second, worker="w2").refused == {second.run_id: Refusal.PARKED}
    replaced = play.seen(first)
    assert replaced.state is RunState.CANCELLING
    assert replaced.error_message == "replaced by a later fire"
    assert play.ledger.heartbeat("w1", "default", 1) == [first.run_id]
    play.end(claimed, Verdict.CANCELLED)
    assert play.state(first) is RunState.CANCELLED
    assert play.state(second) is RunState.SCHEDULED
    assert play.start(second, worker="w2").run_id == second.run_id


@on_every_version
def test_replace_wakes_a_run_once_that_was_first_in_line_twice(play: Play) -> None:
    """For the overlap, and for its ordering key: the end of the first frees both."""
    first, second = two_fires(play, Overlap.REPLACE, ordering_key="k")
    claimed = play.start(first, worker="w1")
    assert play.claim(second, worker="w2").refused == {second.run_id: Refusal.PARKED}
    play.end(claimed, Verdict.CANCELLED)
    assert play.state(second) is RunState.SCHEDULED
    assert play.end(play.start(second, worker="w2")).state is RunState.SUCCESS


def test_replace_ends_what_waits_for_its_next_attempt(play: Play) -> None:
    first, second = two_fires(play, Overlap.REPLACE)
    play.end(play.start(first), Verdict.FAILED)
    assert play.claim(second).refused == {second.run_id: Refusal.PARKED}
    assert play.state(first) is RunState.CANCELLED
    assert play.start(second).run_id == second.run_id


def test_replace_ends_what_is_held(play: Play) -> None:
    policy = Policy(on_ambiguous=OnAmbiguous.HOLD)
    first, second = two_fires(play, Overlap.REPLACE, policy=policy)
    play.start(first)
    play.ledger.requeue_lost(ANY_SILENCE)
    play.claim(second)
    assert play.state(first) is RunState.CANCELLED
    assert play.start(second).run_id == second.run_id


def test_replace_skips_a_hopeful_that_never_started(play: Play) -> None:
    first = play.due_hourly(overlap=Overlap.REPLACE)
    second, third = play.again(first, -0.6, "now:2"), play.again(first, -0.2, "now:3")
    play.start(first)
    play.claim(second)
    play.claim(third)
    skipped = play.seen(second)
    assert (skipped.state, skipped.reason) == (RunState.SKIPPED, SkipReason.OVERLAP)
    assert play.state(first) is RunState.CANCELLING
    assert play.state(third) is RunState.PARKED


def test_what_waits_for_a_replaced_run_hears_of_it(play: Play) -> None:
    """The claim's answer does not name the replaced run, so nobody else would tell."""
    job = hourly(play.at(-1), overlap=Overlap.REPLACE)
    after = following(job)
    play.submit(job, after)
    first = play.only_run(job)
    play.end(play.start(first), Verdict.FAILED)
    play.claim(play.again(first))
    assert play.state(first) is RunState.CANCELLED
    waiting = play.only_run(after)
    assert (waiting.state, waiting.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)


@pytest.mark.parametrize("end", ["cancel", "skip", "pause"])
def test_a_queued_fire_that_ends_makes_way(play: Play, end: str) -> None:
    first = play.due_hourly(overlap=Overlap.QUEUE)
    later = play.again(first)
    play.claim(later)
    if end == "cancel":
        play.ledger.cancel_runs(TENANT, [first.run_id])
    elif end == "skip":
        play.ledger.skip([first.run_id], SkipReason.EXPIRED)
    else:
        play.ledger.pause(TENANT, first.job_id)
        play.claim(first)
    assert play.state(first).is_final
    assert play.state(later) is RunState.SCHEDULED


def test_a_claim_tells_of_the_runs_that_it_ended(play: Play) -> None:
    first, second = two_fires(play, Overlap.FORBID)
    assert play.claim(first).ended == []

    [ended] = play.claim(second).ended

    assert (ended.run_id, ended.state) == (second.run_id, RunState.SKIPPED)
    assert ended.run is not None
    assert (ended.run.reason, ended.run.tenant) == (SkipReason.OVERLAP, TENANT)


def test_a_claim_tells_of_what_made_way_and_of_whom_that_decided(play: Play) -> None:
    first = play.due_hourly(overlap=Overlap.REPLACE, max_concurrency=1, concurrency_key="c")
    dependent = following(first.job_id)
    play.submit(dependent)
    holder = play.start(play.due(max_concurrency=1, concurrency_key="c"))
    assert play.claim(first).refused == {first.run_id: Refusal.PARKED}
    second = play.again(first)

    ended = {each.run_id: each.state for each in play.claim(second).ended}

    waiting = play.only_run(dependent)
    assert ended == {first.run_id: RunState.SKIPPED, waiting.run_id: RunState.SKIPPED}
    assert play.state(holder.run_id) is RunState.RUNNING
