"""Cancel a job: its future goes, what is due ends, what runs is asked to stop."""

from uuid import uuid4

import pytest

from lamplighter.domain.errors import JobEnded, JobNotFound, RunNotFound
from lamplighter.domain.job import JobStatus, Policy
from lamplighter.domain.policy import Overlap, TriggerRule
from lamplighter.domain.run import Refusal
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, following, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_cancelled_job_has_no_future(play: Play) -> None:
    submission = hourly(play.at(60))
    run = play.submitted(submission)
    job = play.ledger.cancel_job(TENANT, run.job_id)
    assert (job.status, job.version) == (JobStatus.CANCELLED, 2)
    assert play.ledger.due_schedules(play.at(86_400), 10) == []
    with pytest.raises(RunNotFound):
        play.seen(run)


def test_what_is_due_ends_cancelled(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.cancel_job(TENANT, run.job_id)
    after = play.seen(run)
    assert after.state is RunState.CANCELLED
    assert play.claim(run).refused == {run.run_id: Refusal.ENDED}


def test_what_runs_is_asked_to_stop(play: Play) -> None:
    run = play.due_hourly()
    play.start(run)
    play.ledger.cancel_job(TENANT, run.job_id)
    assert play.state(run) is RunState.CANCELLING
    assert play.ledger.heartbeat("w1", "default", 1) == [run.run_id]


def test_what_is_over_stays(play: Play) -> None:
    run = play.finish(play.due_hourly())
    play.ledger.cancel_job(TENANT, run.job_id)
    assert play.seen(run) == run


def test_cancelling_twice_has_the_same_answer(play: Play) -> None:
    run = play.due_hourly()
    first = play.ledger.cancel_job(TENANT, run.job_id)
    assert play.ledger.cancel_job(TENANT, run.job_id) == first
    assert play.job(run.job_id) == first


def test_a_cancelled_job_can_be_read_with_its_past(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.cancel_job(TENANT, run.job_id)
    versions = play.ledger.job_versions(TENANT, run.job_id)
    assert [each.version for each in versions] == [1, 2]
    assert [each.status for each in versions] == [JobStatus.SCHEDULED, JobStatus.CANCELLED]


def test_a_paused_job_can_be_cancelled(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.pause(TENANT, run.job_id)
    assert play.ledger.cancel_job(TENANT, run.job_id).version == 3


def test_a_cancelled_job_cannot_be_changed(play: Play) -> None:
    run = play.due_hourly()
    job = play.ledger.cancel_job(TENANT, run.job_id)
    for change in (play.ledger.pause, play.ledger.resume):
        with pytest.raises(JobEnded):
            change(TENANT, run.job_id)
    with pytest.raises(JobEnded):
        play.ledger.reschedule(job, expected_version=2, first_fire=None, next_fire=None)


def test_nobody_cancels_an_unknown_job_or_another_tenants(play: Play) -> None:
    run = play.due_hourly()
    with pytest.raises(JobNotFound):
        play.ledger.cancel_job(TENANT, uuid4())
    with pytest.raises(JobNotFound):
        play.ledger.cancel_job(OTHER_TENANT, run.job_id)
    assert play.job(run.job_id).status is JobStatus.SCHEDULED


def test_slots_of_a_cancelled_job_are_handed_on(play: Play) -> None:
    first = play.submitted(one_off(play.at(-1), ordering_key="k"))
    second = play.submitted(one_off(play.at(-0.5), ordering_key="k"))
    play.claim(second)
    play.ledger.cancel_job(TENANT, first.job_id)
    assert play.state(second) is RunState.SCHEDULED


def test_a_future_run_that_leaves_gives_up_its_place_in_the_order(play: Play) -> None:
    job = hourly(play.at(60), overlap=Overlap.QUEUE, ordering_key="k")
    play.submit(job)
    play.ledger.cancel_job(TENANT, job.job.job_id)
    later = play.submitted(one_off(play.at(-1), ordering_key="k"))
    assert play.start(later).run_id == later.run_id


def test_what_waits_for_a_due_run_of_a_cancelled_job_hears_of_it(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job, clean_up = (
        following(upstream),
        following(upstream, policy=Policy(trigger_rule=TriggerRule.ALL_DONE)),
    )
    play.submit(upstream, job, clean_up)
    play.ledger.cancel_job(TENANT, upstream.job.job_id)
    run = play.only_run(job)
    assert (run.state, run.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)
    assert play.only_run(clean_up).state is RunState.SCHEDULED


def test_what_waits_for_a_coming_run_of_a_cancelled_job_hears_of_it(play: Play) -> None:
    """Else it would wait for a day, or vanish: a fire that was promised has its disposition."""
    upstream = one_off(play.at(600))
    job = following(upstream)
    play.submit(upstream, job)
    play.ledger.cancel_job(TENANT, upstream.job.job_id)
    run = play.only_run(job)
    assert (run.state, run.reason) == (RunState.SKIPPED, SkipReason.UPSTREAM_FAILED)


def test_a_cancelled_dependent_gets_no_more_runs(play: Play) -> None:
    upstream = hourly(play.at(-1))
    job = following(upstream)
    play.submit(upstream, job)
    play.ledger.cancel_job(TENANT, job.job.job_id)
    assert upstream.next_fire is not None
    play.ledger.plan(play.lease(), [play.planned(upstream, [upstream.next_fire])])
    assert [run.state for run in play.runs(job)] == [RunState.CANCELLED]


@on_every_version
def test_fires_that_nobody_planned_in_time_are_told_of(play: Play) -> None:
    """Every hour, and nobody has planned for three of them; the last is a second old."""
    submission = hourly(play.at(-3 * 3600 - 1))
    play.submit(submission)

    play.ledger.cancel_job(TENANT, submission.job.job_id)

    runs = sorted(play.runs(submission), key=lambda run: run.run_id)
    assert [run.state for run in runs] == [
        RunState.CANCELLED,
        RunState.SKIPPED,
        RunState.CANCELLED,
    ]
    assert (runs[1].reason, runs[1].missed_count) == (SkipReason.MISSED_WINDOW, 2)
