"""Pause and resume: a mark on the job, nothing else; its fires are judged when they come."""

from uuid import uuid4

import pytest

from lamplighter.domain.errors import JobNotFound
from lamplighter.domain.job import JobStatus
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, hourly
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_pause_and_resume_are_new_versions(play: Play) -> None:
    run = play.submitted(hourly(play.at(60)))
    paused = play.ledger.pause(TENANT, run.job_id)
    resumed = play.ledger.resume(TENANT, run.job_id)
    assert (paused.status, paused.version) == (JobStatus.PAUSED, 2)
    assert (resumed.status, resumed.version) == (JobStatus.SCHEDULED, 3)
    kept = play.ledger.job_versions(TENANT, run.job_id)
    assert [(each.version, each.status) for each in kept] == [
        (1, JobStatus.SCHEDULED),
        (2, JobStatus.PAUSED),
        (3, JobStatus.SCHEDULED),
    ]
    assert kept[-1] == play.job(run.job_id)


def test_pausing_or_resuming_twice_changes_nothing_more(play: Play) -> None:
    run = play.submitted(hourly(play.at(60)))
    assert play.ledger.resume(TENANT, run.job_id).version == 1
    first = play.ledger.pause(TENANT, run.job_id)
    assert play.ledger.pause(TENANT, run.job_id) == first


def test_a_pause_removes_nothing(play: Play) -> None:
    submission = hourly(play.at(60))
    run = play.submitted(submission)
    play.ledger.pause(TENANT, run.job_id)
    assert play.state(run) is RunState.SCHEDULED
    [standing] = play.ledger.due_schedules(play.at(2 * 3600), 10)
    assert standing.next_fire_at == submission.next_fire


def test_a_paused_job_is_planned_on(play: Play) -> None:
    """Its fires are recorded as skipped, so they must be written first."""
    submission = hourly(play.at(60))
    run = play.submitted(submission)
    play.ledger.pause(TENANT, run.job_id)
    assert submission.next_fire is not None
    [due] = play.ledger.plan(play.lease(), [play.planned(submission, [submission.next_fire])])
    assert play.state(due.run_id) is RunState.SCHEDULED


def test_what_runs_goes_on_running(play: Play) -> None:
    run = play.due_hourly()
    claimed = play.start(run)
    play.ledger.pause(TENANT, run.job_id)
    assert play.state(run) is RunState.RUNNING
    assert play.end(claimed).state is RunState.SUCCESS


@pytest.mark.parametrize("change", ["pause", "resume"])
def test_nobody_changes_an_unknown_job_or_another_tenants(play: Play, change: str) -> None:
    run = play.submitted(hourly(play.at(60)))
    with pytest.raises(JobNotFound):
        getattr(play.ledger, change)(TENANT, uuid4())
    with pytest.raises(JobNotFound):
        getattr(play.ledger, change)(OTHER_TENANT, run.job_id)
    assert play.job(run.job_id).version == 1
