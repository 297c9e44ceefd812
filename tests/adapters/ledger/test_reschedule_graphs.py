"""Reschedule jobs that wait for others, and jobs that others wait for."""

from datetime import datetime
from typing import Any

import msgspec
import pytest

from lamplighter.domain.errors import InvalidGraph, InvalidJob
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import EdgeRule, TriggerRule
from lamplighter.domain.run import Submission
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import HOUR, TENANT, edge, following, hourly, one_off
from tests.adapters.ledger.play import Play


def edit(play: Play, submission: Submission, fire: datetime | None = None, **fields: Any) -> Job:
    job = play.job(submission)
    return play.ledger.reschedule(
        msgspec.structs.replace(job, **fields),
        expected_version=job.version,
        first_fire=fire,
        next_fire=None if fire is None or not job.repeats else fire + HOUR,
    )


def test_an_edit_that_closes_a_cycle_is_refused_by_its_path(play: Play) -> None:
    first = one_off(play.at(600))
    second = following(first)
    third = following(second)
    play.submit(first, second, third)
    with pytest.raises(InvalidGraph, match="cycle"):
        edit(play, first, first.first_fire, after=(edge(third),))
    assert play.job(first).version == 1
    assert play.only_run(first).state is RunState.SCHEDULED


def test_an_edit_to_wait_for_nobody_known_is_refused(play: Play) -> None:
    first, second = one_off(play.at(600)), one_off(play.at(600))
    play.submit(first)
    with pytest.raises(InvalidGraph, match="unknown"):
        edit(play, first, first.first_fire, after=(edge(second),))


def test_an_edit_that_names_an_upstream_twice_is_refused(play: Play) -> None:
    first = one_off(play.at(600))
    job = following(first)
    play.submit(first, job)
    with pytest.raises(InvalidGraph, match="twice"):
        edit(play, job, after=(edge(first), edge(first)))


def test_an_edit_judges_what_waits_for_a_coming_run_that_has_ended(play: Play) -> None:
    first = hourly(play.at(600))
    job = following(first, policy=Policy(trigger_rule=TriggerRule.NONE_FAILED))
    play.submit(first, job)
    play.ledger.skip([play.only_run(first).run_id], SkipReason.MISSED_WINDOW)
    assert play.only_run(job).state is RunState.BLOCKED
    edit(play, first, play.at(7200), name="renamed")
    freed = [run.state for run in play.runs(job) if run.fire_at == first.first_fire]
    assert freed == [RunState.SCHEDULED]


def test_an_edit_may_add_and_remove_upstreams(play: Play) -> None:
    first, second = one_off(play.at(600)), one_off(play.at(900))
    job = following(first)
    play.submit(first, second, job)
    edit(play, job, after=(edge(first), edge(second)))
    assert play.only_run(job).fire_at == second.first_fire
    edit(play, job, after=(edge(first),))
    assert play.only_run(job).fire_at == first.first_fire
    play.ledger.cancel_job(TENANT, second.job.job_id)
    assert play.only_run(job).state is RunState.BLOCKED


def test_an_upstream_that_was_cancelled_does_not_forbid_other_edits(play: Play) -> None:
    first = hourly(play.at(600))
    job = following(first)
    play.submit(first, job, following(job))
    play.ledger.cancel_job(TENANT, first.job.job_id)
    assert edit(play, job, priority=1).priority == 1


def test_a_due_run_that_no_longer_waits_for_anybody_is_free(play: Play) -> None:
    upstream = hourly(play.at(-1))
    fire = upstream.first_fire
    assert fire is not None
    job = hourly(fire, after=(edge(upstream),))
    play.submit(upstream, job)
    assert play.only_run(job).state is RunState.BLOCKED
    edit(play, job, after=())
    assert play.only_run(job).state is RunState.SCHEDULED


def test_those_that_wait_follow_their_upstream_to_its_new_fire(play: Play) -> None:
    upstream = one_off(play.at(600))
    job = following(upstream)
    further = following(job)
    play.submit(upstream, job, further)
    moved = one_off(play.at(1200))
    edit(play, upstream, moved.first_fire, schedule=moved.job.schedule)
    for below in (job, further):
        run = play.only_run(below)
        assert (run.fire_at, run.state) == (moved.first_fire, RunState.BLOCKED)


def test_those_that_wait_for_a_recurring_job_follow_it_too(play: Play) -> None:
    upstream = hourly(play.at(600))
    job = following(upstream)
    play.submit(upstream, job)
    fire = play.at(1200)
    edit(play, upstream, fire, schedule=hourly(fire).job.schedule)
    assert play.only_run(job).fire_at == fire


def test_a_due_run_waits_on_for_its_due_upstream(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    edit(play, upstream, play.at(600))
    newer, due = play.runs(job)
    assert (newer.state, due.state) == (RunState.BLOCKED, RunState.BLOCKED)
    ended = play.finish(play.runs(upstream)[1])
    play.ledger.free_dependents([ended.run_id])
    assert play.state(due) is RunState.SCHEDULED
    assert play.state(newer) is RunState.BLOCKED


@pytest.mark.parametrize(
    ("before", "after"), [((), ("default", "eu")), (("default", "eu"), ("default",))]
)
def test_a_due_run_waits_for_the_pools_that_its_upstream_was_written_for(
    play: Play, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    upstream = hourly(play.at(-1), policy=Policy(fan_out=before))
    job = following(upstream)
    play.submit(upstream, job)
    edit(play, upstream, play.at(600), policy=Policy(fan_out=after))
    due = play.runs(job)[-1]
    for run in play.runs(upstream):
        if run.fire_at == due.fire_at:
            assert play.state(due) is RunState.BLOCKED
            ended = play.finish(run)
            play.ledger.free_dependents([ended.run_id])
    assert play.state(due) is RunState.SCHEDULED


def test_a_change_between_once_and_often_is_refused_while_others_depend_on_it(play: Play) -> None:
    once, often = one_off(play.at(600)), hourly(play.at(900))
    job = following(once)
    play.submit(once, job)
    with pytest.raises(InvalidJob) as refused:
        edit(play, once, often.first_fire, schedule=often.job.schedule)
    assert refused.value.field == "schedule_type"
    play.ledger.cancel_job(TENANT, job.job.job_id)
    assert edit(play, once, often.first_fire, schedule=often.job.schedule).repeats


def test_an_edit_after_which_dependents_never_share_a_fire_is_refused(play: Play) -> None:
    fire = play.at(600)
    left, right = hourly(fire), hourly(fire)
    play.submit(left, right, following(left, right))
    other = hourly(play.at(900))
    with pytest.raises(InvalidGraph, match="never provably fire together"):
        edit(play, left, other.first_fire, schedule=other.job.schedule)
    assert play.job(left).version == 1


def test_a_named_rule_allows_any_schedule(play: Play) -> None:
    fire = play.at(600)
    left, right = hourly(fire), hourly(fire)
    job = following(left, edge(right, EdgeRule.LATEST_SUCCESS))
    play.submit(left, right, job)
    other = hourly(play.at(900))
    assert edit(play, right, other.first_fire, schedule=other.job.schedule).version == 2


def test_edges_that_were_taken_out_free_nobody(play: Play) -> None:
    first, second = one_off(play.at(-1)), one_off(play.at(600))
    job = following(first, second)
    play.submit(first, second, job)
    edit(play, job, after=(edge(second),))
    ended = play.finish(play.only_run(first))
    assert play.ledger.free_dependents([ended.run_id]) == []
