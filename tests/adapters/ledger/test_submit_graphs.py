"""Submit: edges are checked in the same transaction, and blocked runs are written in it."""

from uuid import uuid4

import pytest

from lamplighter.domain.errors import InvalidGraph, JobNotFound
from lamplighter.domain.policy import EdgeRule
from lamplighter.domain.run import Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import (
    OTHER_TENANT,
    TENANT,
    edge,
    following,
    hourly,
    one_off,
)
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_whole_graph_is_submitted_at_once(play: Play) -> None:
    root = hourly(play.at(60))
    left, right = following(root), following(root)
    end = following(left, right)
    accepted = play.submit(end, right, left, root)
    assert len(accepted.created) == 4
    assert [due.run_id for due in accepted.runs] == [play.only_run(root).run_id]
    assert [run.as_due() for run in accepted.first] == accepted.runs
    assert accepted.judged == []
    for job in (left, right, end):
        run = play.only_run(job)
        assert (run.state, run.fire_at) == (RunState.BLOCKED, root.first_fire)
        assert play.job(job).repeats


def test_edges_are_read_back_in_their_order(play: Play) -> None:
    upstreams = [one_off(play.at(60)) for _ in range(3)]
    job = following(*upstreams)
    play.submit(*upstreams, job)
    assert play.job(job).after == job.job.after


def test_an_unknown_upstream_is_refused(play: Play) -> None:
    missing = uuid4()
    with pytest.raises(InvalidGraph, match=str(missing)):
        play.submit(following(missing))


def test_another_tenants_job_is_an_unknown_upstream(play: Play) -> None:
    theirs = one_off(play.at(60), tenant=OTHER_TENANT)
    play.submit(theirs)
    with pytest.raises(InvalidGraph, match="unknown"):
        play.submit(following(theirs))


def test_another_tenants_job_in_the_same_batch_is_an_unknown_upstream(play: Play) -> None:
    theirs = one_off(play.at(60), tenant=OTHER_TENANT)
    with pytest.raises(InvalidGraph, match="unknown"):
        play.submit(theirs, following(theirs))


def test_a_cancelled_upstream_is_refused(play: Play) -> None:
    upstream = one_off(play.at(60))
    play.submit(upstream)
    play.ledger.cancel_job(TENANT, upstream.job.job_id)
    with pytest.raises(InvalidGraph, match=f"{upstream.job.job_id} is CANCELLED") as refused:
        play.submit(following(upstream))
    assert refused.value.field == "after[0]"


def test_a_cancelled_upstream_is_refused_though_others_wait_for_it(play: Play) -> None:
    upstream = one_off(play.at(60))
    waiting = following(upstream)
    play.submit(upstream, waiting)
    play.ledger.cancel_job(TENANT, upstream.job.job_id)
    with pytest.raises(InvalidGraph, match="is CANCELLED"):
        play.submit(following(upstream, waiting))


def test_who_submits_again_is_answered_though_an_upstream_was_cancelled_since(play: Play) -> None:
    up = one_off(play.at(60))
    job = following(up, fingerprint=b"body")
    play.submit(up)
    assert play.submit(job).created == {job.job.job_id}
    play.ledger.cancel_job(TENANT, up.job.job_id)
    assert play.submit(job).created == set()
    assert play.only_run(job).reason is SkipReason.UPSTREAM_FAILED


def test_a_cycle_is_refused_by_its_path(play: Play) -> None:
    first, second = uuid4(), uuid4()
    with pytest.raises(InvalidGraph, match=f"{first}.*{second}|{second}.*{first}"):
        play.submit(following(second, job_id=first), following(first, job_id=second))
    with pytest.raises(JobNotFound):
        play.job(first)


def test_a_job_that_waits_for_itself_is_refused(play: Play) -> None:
    itself = uuid4()
    with pytest.raises(InvalidGraph, match="itself"):
        play.submit(following(itself, job_id=itself))


def test_schedules_that_never_meet_cannot_wait_for_the_same_fire(play: Play) -> None:
    on_time, apart = hourly(play.at(60)), hourly(play.at(120))
    with pytest.raises(InvalidGraph, match="latest_success"):
        play.submit(on_time, apart, following(on_time, apart))
    named = following(on_time, edge(apart, EdgeRule.LATEST_SUCCESS))
    assert play.submit(on_time, apart, named).created


def test_a_job_with_a_schedule_of_its_own_is_blocked_at_its_first_fire(play: Play) -> None:
    fire = play.at(60)
    upstream = hourly(fire)
    own = hourly(fire, after=(edge(upstream),))
    accepted = play.submit(upstream, own)
    assert [due.run_id for due in accepted.runs] == [play.only_run(upstream).run_id]
    assert play.only_run(own).state is RunState.BLOCKED


def test_a_job_after_several_one_offs_waits_at_the_latest(play: Play) -> None:
    early, late = one_off(play.at(60)), one_off(play.at(600))
    job = following(early, late)
    play.submit(early, late, job)
    assert play.only_run(job).fire_at == late.first_fire
    assert not play.job(job).repeats


def test_a_job_after_a_one_off_that_is_far_ahead_gets_its_run_with_it(play: Play) -> None:
    upstream = one_off(play.at(30 * 86_400))
    job = following(upstream)
    play.submit(upstream, job)
    assert play.runs(job) == []
    [standing] = play.ledger.due_schedules(play.at(31 * 86_400), 10)
    seen = standing.next_fire_at
    plan = play.planned(upstream, [seen], seen_fire=seen, next_fire_at=None)
    play.ledger.plan(play.lease(), [plan])
    assert play.only_run(job).fire_at == seen


def test_a_new_dependent_waits_for_what_is_open(play: Play) -> None:
    upstream = hourly(play.at(-1))
    play.submit(upstream)
    job = following(upstream)
    play.submit(job)
    assert play.only_run(job).fire_at == upstream.first_fire


def test_a_new_dependent_does_not_wait_for_what_is_over(play: Play) -> None:
    upstream = hourly(play.at(-1))
    play.finish(play.submitted(upstream))
    job = following(upstream)
    play.submit(job)
    assert play.runs(job) == []


@pytest.mark.parametrize(
    ("verdict", "state", "reason"),
    [
        (Verdict.SUCCESS, RunState.SCHEDULED, None),
        (Verdict.FAILED, RunState.SKIPPED, SkipReason.UPSTREAM_FAILED),
    ],
)
def test_a_dependent_of_a_one_off_that_has_ended_is_judged_at_once(
    play: Play, verdict: Verdict, state: RunState, reason: SkipReason | None
) -> None:
    upstream = one_off(play.at(-1))
    play.finish(play.submitted(upstream), verdict)
    job = following(upstream)
    accepted = play.submit(job)
    run = play.only_run(job)
    assert (run.state, run.reason) == (state, reason)
    assert [due.run_id for due in accepted.runs] == (
        [run.run_id] if state is RunState.SCHEDULED else []
    )
    assert [(each.run_id, each.state) for each in accepted.judged] == [(run.run_id, state)]
    assert accepted.first == []
    further = following(job)
    play.submit(further)
    expected = RunState.BLOCKED if state is RunState.SCHEDULED else RunState.SKIPPED
    assert play.only_run(further).state is expected


def test_a_new_dependent_learns_that_a_coming_fire_was_cancelled(play: Play) -> None:
    upstream = hourly(play.at(60))
    run = play.submitted(upstream)
    play.ledger.cancel_runs(TENANT, [run.run_id])
    job = following(upstream)
    play.submit(job)
    skipped = play.only_run(job)
    assert (skipped.fire_at, skipped.state) == (run.fire_at, RunState.SKIPPED)


def test_a_run_asked_for_by_a_person_leads_nobody_on(play: Play) -> None:
    upstream = hourly(play.at(60))
    play.submit(upstream)
    play.ledger.add_run(TENANT, upstream.job.job_id, "now:1", play.at(-1))
    job = following(upstream)
    play.submit(job)
    assert [run.fire_at for run in play.runs(job)] == [upstream.first_fire]


def test_a_chain_passes_the_fire_on(play: Play) -> None:
    jobs = [hourly(play.at(60))]
    for _ in range(20):
        jobs.append(following(jobs[-1]))
    play.submit(*reversed(jobs))
    assert {play.only_run(job).fire_at for job in jobs} == {jobs[0].first_fire}
