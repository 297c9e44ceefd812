"""Dependents: when a blocked run is freed, when it is skipped, and when it waits on."""

import pytest

from lamplighter.domain.job import Policy
from lamplighter.domain.policy import TriggerRule
from lamplighter.domain.run import Recorded, Run, Submission, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import TENANT, following, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version

_OK, _BAD = Verdict.SUCCESS, Verdict.FAILED
READY, SKIPPED, BLOCKED = RunState.SCHEDULED, RunState.SKIPPED, RunState.BLOCKED


def ended(play: Play, upstream: Submission, verdict: Verdict | None) -> Run:
    """None: skipped, which is an end without an attempt."""
    run = play.only_run(upstream)
    if verdict is not None:
        return play.finish(run, verdict)
    play.ledger.skip([run.run_id], SkipReason.EXPIRED)
    return play.seen(run)


@on_every_version
def test_a_success_frees_what_waits_for_it(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream))
    [freed] = play.ledger.free_dependents([run.run_id])
    assert (freed.recorded, freed.state) == (Recorded.ACCEPTED, RunState.SCHEDULED)
    after = play.only_run(job)
    assert (after.state, after.excused) == (RunState.SCHEDULED, True)
    assert after.wake_at is not None
    assert after.wake_at <= play.ledger.now()
    assert play.finish(after).state is RunState.SUCCESS


def test_only_a_job_that_others_wait_for_is_awaited(play: Play) -> None:
    upstream, alone = hourly(play.at(-1)), hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, alone, job)
    ids = [each.job.job_id for each in (upstream, alone, job)]
    assert play.ledger.awaited(dict.fromkeys(ids, TENANT)) == {upstream.job.job_id}
    assert play.ledger.awaited({}) == set()


def test_freeing_twice_frees_once(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream))
    assert len(play.ledger.free_dependents([run.run_id])) == 1
    assert play.ledger.free_dependents([run.run_id]) == []


def test_an_upstream_that_has_not_ended_frees_nobody(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    assert play.ledger.free_dependents([play.only_run(upstream).run_id]) == []
    assert play.only_run(job).state is BLOCKED


RULES = [
    (TriggerRule.ALL_SUCCESS, [_OK, _OK], READY),
    (TriggerRule.ALL_SUCCESS, [_OK], BLOCKED),
    (TriggerRule.ALL_SUCCESS, [_BAD], SKIPPED),
    (TriggerRule.ALL_SUCCESS, [_OK, None], SKIPPED),
    (TriggerRule.ALL_DONE, [_BAD], BLOCKED),
    (TriggerRule.ALL_DONE, [_BAD, None], READY),
    (TriggerRule.ONE_SUCCESS, [_OK], READY),
    (TriggerRule.ONE_SUCCESS, [_BAD], BLOCKED),
    (TriggerRule.ONE_SUCCESS, [_BAD, _OK], READY),
    (TriggerRule.ONE_SUCCESS, [_BAD, None], SKIPPED),
    (TriggerRule.NONE_FAILED, [_OK, None], READY),
    (TriggerRule.NONE_FAILED, [None], BLOCKED),
    (TriggerRule.NONE_FAILED, [_BAD], SKIPPED),
]


@pytest.mark.parametrize(("rule", "verdicts", "expected"), RULES)
def test_a_trigger_rule_decides_over_several_upstreams(
    play: Play, rule: TriggerRule, verdicts: list[Verdict | None], expected: RunState
) -> None:
    upstreams = [one_off(play.at(-1), name=f"upstream {n}") for n in range(2)]
    job = following(*upstreams, policy=Policy(trigger_rule=rule))
    play.submit(*upstreams, job)
    ends = [ended(play, up, verdict) for up, verdict in zip(upstreams, verdicts, strict=False)]
    play.ledger.free_dependents([run.run_id for run in ends])
    run = play.only_run(job)
    assert run.state is expected
    if expected is SKIPPED:
        assert run.reason is SkipReason.UPSTREAM_FAILED
        assert run.error_message is not None
        assert "upstream" in run.error_message


@on_every_version
def test_a_skipped_run_decides_those_that_wait_for_it_in_the_same_call(play: Play) -> None:
    chain = [hourly(play.at(-1))]
    for _ in range(5):
        chain.append(following(chain[-1]))
    play.submit(*chain)
    run = play.finish(play.only_run(chain[0]), Verdict.FAILED)
    settled = play.ledger.free_dependents([run.run_id])
    assert [each.job_id for each in settled] == [each.job.job_id for each in chain[1:]]
    assert {each.state for each in settled} == {RunState.SKIPPED}


def test_a_skip_may_also_free(play: Play) -> None:
    upstream = hourly(play.at(-1))
    middle = following(upstream)
    clean_up = following(middle, policy=Policy(trigger_rule=TriggerRule.ALL_DONE))
    play.submit(upstream, middle, clean_up)
    run = play.finish(play.only_run(upstream), Verdict.FAILED)
    play.ledger.free_dependents([run.run_id])
    assert play.only_run(middle).state is RunState.SKIPPED
    assert play.only_run(clean_up).state is RunState.SCHEDULED


def test_a_dependent_waits_for_all_pools_of_an_upstream(play: Play) -> None:
    upstream = hourly(play.at(-1), policy=Policy(fan_out=("eu", "us")))
    job = following(upstream)
    play.submit(upstream, job)
    first, second = play.runs(upstream)
    play.finish(first)
    assert play.ledger.free_dependents([first.run_id]) == []
    play.finish(second)
    [freed] = play.ledger.free_dependents([second.run_id])
    assert freed.state is RunState.SCHEDULED


def test_a_dependent_that_fans_out_is_freed_in_every_pool(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream, policy=Policy(fan_out=("eu", "us")))
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream))
    assert len(play.ledger.free_dependents([run.run_id])) == 2


def test_a_run_beside_the_schedule_frees_nobody(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    extra = play.finish(play.again(play.only_run(upstream)))
    assert play.ledger.free_dependents([extra.run_id]) == []
    assert play.only_run(job).state is BLOCKED


def test_a_failure_that_will_be_tried_again_decides_nothing(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    run = play.only_run(upstream)
    play.end(play.start(run), Verdict.FAILED)
    assert play.ledger.free_dependents([run.run_id]) == []
    play.finish(run)
    assert len(play.ledger.free_dependents([run.run_id])) == 1


def test_a_blocked_run_that_was_cancelled_is_not_freed(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    play.ledger.cancel_runs(TENANT, [play.only_run(job).run_id])
    run = play.finish(play.only_run(upstream))
    assert play.ledger.free_dependents([run.run_id]) == []
    assert play.only_run(job).state is RunState.CANCELLED


def test_a_fan_in_of_many_is_freed_by_the_last(play: Play) -> None:
    upstreams = [one_off(play.at(-1)) for _ in range(40)]
    job = following(*upstreams)
    play.submit(*upstreams, job)
    *most, last = [play.only_run(upstream) for upstream in upstreams]
    for run in most:
        play.finish(run)
    assert play.ledger.free_dependents([run.run_id for run in most]) == []
    play.finish(last)
    [freed] = play.ledger.free_dependents([last.run_id])
    assert freed.state is RunState.SCHEDULED
