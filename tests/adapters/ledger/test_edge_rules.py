"""Which run of an upstream a fire waits for: every rule, for upstreams that repeat or do not."""

from lamplighter.domain.policy import CatchUp, CatchUpPolicy, EdgeRule
from lamplighter.domain.run import Run, Submission, Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import edge, following, hourly, one_off
from tests.adapters.ledger.play import Play


def fire_again(play: Play, upstream: Submission) -> Run:
    """The next fire of a schedule, planned; newest first in what the ledger tells."""
    assert upstream.next_fire is not None
    plan = play.planned(upstream, [upstream.next_fire])
    play.ledger.plan(play.lease(), [plan])
    return play.runs(upstream)[0]


def test_same_fire_waits_for_the_run_of_that_very_fire(play: Play) -> None:
    upstream = hourly(play.at(-3600.5))
    job = following(upstream)
    play.submit(upstream, job)
    fire_again(play, upstream)
    newer, older = play.runs(upstream)
    play.finish(newer)
    [freed] = play.ledger.free_dependents([newer.run_id])
    waiting = {run.fire_at: run.state for run in play.runs(job)}
    assert freed.run_id == play.runs(job)[0].run_id
    assert waiting == {newer.fire_at: RunState.SCHEDULED, older.fire_at: RunState.BLOCKED}


def test_latest_success_is_content_with_an_earlier_one(play: Play) -> None:
    upstream = hourly(play.at(-1800))
    play.finish(play.submitted(upstream))
    fire = play.at(-1)
    job = hourly(fire, after=(edge(upstream, EdgeRule.LATEST_SUCCESS, 3600),))
    [due] = play.submit(job).runs
    assert play.only_run(job).run_id == due.run_id
    assert play.only_run(job).state is RunState.SCHEDULED


def test_latest_success_waits_while_there_is_none(play: Play) -> None:
    upstream = hourly(play.at(-1800))
    job = hourly(play.at(-1), after=(edge(upstream, EdgeRule.LATEST_SUCCESS),))
    play.submit(upstream, job)
    assert play.only_run(job).state is RunState.BLOCKED
    run = play.finish(play.only_run(upstream))
    [freed] = play.ledger.free_dependents([run.run_id])
    assert freed.state is RunState.SCHEDULED


def test_latest_success_does_not_count_a_failure(play: Play) -> None:
    upstream = hourly(play.at(-1800))
    job = hourly(play.at(-1), after=(edge(upstream, EdgeRule.LATEST_SUCCESS),))
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream), Verdict.FAILED)
    assert play.ledger.free_dependents([run.run_id]) == []
    assert play.only_run(job).state is RunState.BLOCKED


def test_latest_success_of_a_later_fire_does_not_count(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = hourly(play.at(-1800), after=(edge(upstream, EdgeRule.LATEST_SUCCESS),))
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream))
    assert play.ledger.free_dependents([run.run_id]) == []


def test_next_after_waits_for_a_later_fire(play: Play) -> None:
    patient = {"catch_up": CatchUpPolicy(CatchUp.ALL, window_seconds=86_400)}
    upstream = hourly(play.at(-3600.5), timing=patient)
    job = hourly(play.at(-1800), after=(edge(upstream, EdgeRule.NEXT_AFTER),))
    play.submit(upstream, job)
    earlier = play.finish(play.only_run(upstream))
    assert play.ledger.free_dependents([earlier.run_id]) == []
    later = play.finish(fire_again(play, upstream))
    [freed] = play.ledger.free_dependents([later.run_id])
    assert (freed.job_id, freed.state) == (job.job.job_id, RunState.SCHEDULED)


def test_a_one_off_upstream_gates_whatever_the_fire(play: Play) -> None:
    upstream = one_off(play.at(-1))
    job = hourly(play.at(-1800), after=(edge(upstream),))
    play.submit(upstream, job)
    assert play.only_run(job).state is RunState.BLOCKED
    run = play.finish(play.only_run(upstream))
    [freed] = play.ledger.free_dependents([run.run_id])
    assert freed.state is RunState.SCHEDULED


def test_a_planned_fire_whose_upstream_is_content_already_is_free_at_once(play: Play) -> None:
    """Nothing will happen to the upstream that could free it later."""
    upstream = one_off(play.at(-1))
    job = hourly(play.at(-0.5), after=(edge(upstream),))
    play.submit(upstream, job)
    play.finish(play.only_run(upstream))
    planned = fire_again(play, job)
    assert planned.state is RunState.SCHEDULED


def test_a_fire_that_is_freed_ahead_of_its_time_keeps_its_time(play: Play) -> None:
    upstream = one_off(play.at(-1))
    job = hourly(play.at(600), after=(edge(upstream),))
    play.submit(upstream, job)
    run = play.finish(play.only_run(upstream))
    [freed] = play.ledger.free_dependents([run.run_id])
    assert freed.wake_at == job.first_fire
