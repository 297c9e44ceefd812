"""A run beside the schedule that leads on whoever takes its fires from the job."""

from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.domain import dependents
from lamplighter.domain.errors import InvalidJob, JobNotFound
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import EdgeRule, TriggerRule
from lamplighter.domain.run import Due, Run, Submission, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, edge, following, hourly, one_off
from tests.adapters.ledger.play import Play, at_once
from tests.adapters.ledger.stores import on_every_version

ORIGIN = "now:k"
BLOCKED, READY, SKIPPED = RunState.BLOCKED, RunState.SCHEDULED, RunState.SKIPPED


def cascade(play: Play, job: Submission, seconds: float = -1) -> UUID:
    """Run it and what follows; the id of its own run."""
    fire = play.at(seconds)
    [due] = play.ledger.add_run(TENANT, job.job.job_id, ORIGIN, fire, cascade=True)
    return due.run_id


def beside(play: Play, job: Submission) -> list[Run]:
    return [run for run in play.runs(job) if run.origin == ORIGIN]


def ended(play: Play, run: Run | UUID, verdict: Verdict = Verdict.SUCCESS) -> None:
    done = play.finish(run, verdict)
    play.ledger.free_dependents([done.run_id])


@on_every_version
def test_a_cascade_runs_a_chain_link_by_link(play: Play) -> None:
    root = hourly(play.at(60))
    middle = following(root)
    last = following(middle)
    play.submit(root, middle, last)

    run = play.seen(cascade(play, root))

    chain = [beside(play, middle)[0], beside(play, last)[0]]
    assert {each.fire_at for each in chain} == {run.fire_at}
    assert [each.state for each in chain] == [BLOCKED, BLOCKED]
    ended(play, run)
    assert [play.state(each) for each in chain] == [READY, BLOCKED]
    ended(play, chain[0])
    assert play.state(chain[1]) is READY
    assert play.finish(chain[1]).state is RunState.SUCCESS
    assert [each.state for each in play.runs(last) if each.origin != ORIGIN] == [BLOCKED]


def test_nobody_follows_unless_that_was_asked_for(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    play.ledger.add_run(TENANT, root.job.job_id, ORIGIN, play.at(-1))
    assert beside(play, job) == []


def test_a_cascade_that_is_asked_for_again_makes_nothing_more(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    fire = play.at(-1)
    first, again = (
        play.ledger.add_run(TENANT, root.job.job_id, ORIGIN, fire, cascade=True) for _ in range(2)
    )
    late = following(root)
    play.submit(late)
    ended(play, first[0].run_id)
    third = play.ledger.add_run(TENANT, root.job.job_id, ORIGIN, fire, cascade=True)
    assert (first, third) == (again, [])
    assert [each.state for each in beside(play, job)] == [READY]
    assert beside(play, late) == []


def test_many_who_ask_at_once_make_one_cascade(play: Play) -> None:
    root = hourly(play.at(60))
    jobs = [following(root) for _ in range(5)]
    play.submit(root, *jobs)
    fire = play.at(-1)

    def ask(_: int) -> list[Due]:
        return play.ledger.add_run(TENANT, root.job.job_id, ORIGIN, fire, cascade=True)

    first, *others = at_once(ask, range(4))
    assert others == [first] * 3
    assert [len(beside(play, job)) for job in (root, *jobs)] == [1] * 6


def test_a_failure_skips_all_that_follows_and_no_other_fire(play: Play) -> None:
    root = hourly(play.at(60))
    middle = following(root)
    last = following(middle)
    play.submit(root, middle, last)
    ended(play, cascade(play, root), Verdict.FAILED)
    for job in (middle, last):
        states = {run.origin: run.state for run in play.runs(job)}
        assert states == {"schedule": BLOCKED, ORIGIN: SKIPPED}


def test_the_runs_of_the_schedule_wait_for_none_of_a_cascade(play: Play) -> None:
    root = hourly(play.at(-1))
    job = following(root)
    play.submit(root, job)
    ended(play, cascade(play, root))
    states = {run.origin: run.state for run in play.runs(job)}
    assert states == {"schedule": BLOCKED, ORIGIN: READY}


def test_a_run_of_the_schedule_frees_none_of_a_cascade(play: Play) -> None:
    root = one_off(play.at(-1))
    job = following(root)
    play.submit(root, job)
    planned = play.only_run(root)
    cascade(play, root)
    ended(play, planned)
    states = {run.origin: run.state for run in play.runs(job)}
    assert states == {"schedule": READY, ORIGIN: BLOCKED}


def test_who_has_a_schedule_stays_out_with_those_behind_it(play: Play) -> None:
    fire = play.at(60)
    root = hourly(fire)
    timed = hourly(fire, after=(edge(root),))
    behind = following(timed)
    both = following(root, timed)
    play.submit(root, timed, behind, both)
    run = cascade(play, root)
    assert beside(play, timed) == beside(play, behind) == []
    ended(play, run)
    assert [each.state for each in beside(play, both)] == [READY]


def test_an_upstream_that_was_not_asked_for_has_no_say(play: Play) -> None:
    fire = play.at(60)
    root, other = hourly(fire), hourly(fire)
    job = following(root, other)
    play.submit(root, other, job)
    run = cascade(play, root)
    assert beside(play, other) == []
    ended(play, run)
    assert [each.state for each in beside(play, job)] == [READY]


@pytest.mark.parametrize(
    ("rule", "state"),
    [
        (TriggerRule.ALL_SUCCESS, SKIPPED),
        (TriggerRule.ALL_DONE, READY),
        (TriggerRule.ONE_SUCCESS, READY),
        (TriggerRule.NONE_FAILED, SKIPPED),
    ],
)
def test_a_trigger_rule_decides_over_those_that_were_asked_for(
    play: Play, rule: TriggerRule, state: RunState
) -> None:
    root = hourly(play.at(60))
    good, bad = following(root), following(root)
    job = following(good, bad, policy=Policy(trigger_rule=rule))
    play.submit(root, good, bad, job)
    ended(play, cascade(play, root))
    ended(play, beside(play, good)[0])
    ended(play, beside(play, bad)[0], Verdict.FAILED)
    assert [run.state for run in beside(play, job)] == [state]


@pytest.mark.parametrize("rule", EdgeRule)
def test_an_edge_of_any_rule_waits_for_the_run_of_the_cascade(play: Play, rule: EdgeRule) -> None:
    root = hourly(play.at(-2))
    job = following(edge(root, rule))
    play.submit(root, job)
    play.finish(play.only_run(root))
    run = cascade(play, root)
    play.ledger.settle_overdue()
    assert [each.state for each in beside(play, job)] == [BLOCKED]
    ended(play, run)
    assert [each.state for each in beside(play, job)] == [READY]


def test_a_cascade_has_a_run_in_every_pool_and_waits_for_all(play: Play) -> None:
    root = hourly(play.at(60), policy=Policy(fan_out=("eu", "us")))
    job = following(root, policy=Policy(fan_out=("eu", "us")))
    play.submit(root, job)
    first, second = play.ledger.add_run(TENANT, root.job.job_id, ORIGIN, play.at(-1), cascade=True)
    ended(play, first.run_id)
    assert [run.state for run in beside(play, job)] == [BLOCKED, BLOCKED]
    ended(play, second.run_id)
    assert [run.state for run in beside(play, job)] == [READY, READY]


def test_two_cascades_under_one_key_do_not_meet(play: Play) -> None:
    root = one_off(play.at(60))
    job = following(root)
    play.submit(root, job)
    old, new = cascade(play, root, -5), cascade(play, root, -1)
    ended(play, new)
    newer, older = beside(play, job)
    assert (newer.state, older.state) == (READY, BLOCKED)
    ended(play, old)
    assert play.state(older) is READY


def test_a_paused_dependent_is_skipped_when_its_turn_comes(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    last = following(job)
    play.submit(root, job, last)
    play.ledger.pause(TENANT, job.job.job_id)
    ended(play, cascade(play, root))
    [run], [below] = beside(play, job), beside(play, last)
    assert (run.state, run.reason) == (SKIPPED, SkipReason.PAUSED)
    assert (below.state, below.reason) == (SKIPPED, SkipReason.UPSTREAM_FAILED)


def test_a_dependent_that_is_resumed_in_time_runs(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    play.ledger.pause(TENANT, job.job.job_id)
    run = cascade(play, root)
    play.ledger.resume(TENANT, job.job.job_id)
    ended(play, run)
    assert [each.state for each in beside(play, job)] == [READY]


def test_a_cancelled_dependent_stays_out_with_those_behind_it(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    last = following(job)
    play.submit(root, job, last)
    play.ledger.cancel_job(TENANT, job.job.job_id)
    cascade(play, root)
    assert beside(play, job) == beside(play, last) == []


@pytest.mark.parametrize("seconds", [-1, 5])
def test_a_dependent_that_is_cancelled_meanwhile_decides_those_behind_it(
    play: Play, seconds: float
) -> None:
    """Also where the fire lies a moment ahead: our clock may be ahead of the ledger's."""
    root = hourly(play.at(60))
    job = following(root)
    last = following(job)
    play.submit(root, job, last)
    cascade(play, root, seconds)
    play.ledger.cancel_job(TENANT, job.job.job_id)
    assert [run.state for run in beside(play, job)] == [RunState.CANCELLED]
    assert [run.state for run in beside(play, last)] == [SKIPPED]


def test_an_edit_of_the_schedule_leaves_a_cascade_alone(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    run = cascade(play, root, 5)
    fire = play.at(120)
    play.ledger.reschedule(
        hourly(fire, job_id=root.job.job_id).job,
        expected_version=1,
        first_fire=fire,
        next_fire=fire + timedelta(hours=1),
    )
    assert play.state(run) is READY
    assert [each.state for each in beside(play, job)] == [BLOCKED]


def test_the_word_of_an_end_may_be_lost(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    play.finish(cascade(play, root))
    play.ledger.settle_overdue()
    assert [each.state for each in beside(play, job)] == [READY]


def test_a_run_in_the_middle_of_a_graph_leads_on_what_is_below(play: Play) -> None:
    root = hourly(play.at(60))
    middle = following(root)
    last = following(middle)
    play.submit(root, middle, last)
    run = cascade(play, middle)
    assert play.state(run) is READY
    assert beside(play, root) == []
    ended(play, run)
    assert [each.state for each in beside(play, last)] == [READY]


def test_too_many_that_would_follow_are_refused_whole(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependents, "MOST_CASCADED", 2)
    root = hourly(play.at(60))
    jobs = [following(root) for _ in range(3)]
    play.submit(root, *jobs)
    with pytest.raises(InvalidJob) as refused:
        cascade(play, root)
    assert refused.value.field == "cascade"
    assert [beside(play, job) for job in (root, *jobs)] == [[]] * 4


def test_another_tenant_leads_nobody_on(play: Play) -> None:
    root = hourly(play.at(60))
    job = following(root)
    play.submit(root, job)
    with pytest.raises(JobNotFound):
        play.ledger.add_run(OTHER_TENANT, root.job.job_id, ORIGIN, play.at(-1), cascade=True)
    assert beside(play, job) == []
