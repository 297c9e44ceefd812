"""Reschedule: the future is replaced, what is due stays, and nobody's change is lost."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.errors import JobNotFound, RunNotFound, VersionConflict
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Submission, Verdict
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import HOUR, OTHER_TENANT, TENANT, hourly, one_off
from tests.adapters.ledger.play import Play, run_of
from tests.adapters.ledger.stores import on_every_version


def reschedule(play: Play, submission: Submission, fire: datetime | None, **fields: Any) -> Job:
    """The same schedule anew, from this fire on, with some fields changed."""
    job = play.job(submission)
    return play.ledger.reschedule(
        msgspec.structs.replace(job, **fields),
        expected_version=job.version,
        first_fire=fire,
        next_fire=None if fire is None else fire + HOUR,
    )


@on_every_version
def test_the_future_is_replaced(play: Play) -> None:
    submission = hourly(play.at(600))
    before = play.submitted(submission)
    fire = play.at(1200)
    job = reschedule(play, submission, fire, name="renamed", payload=[1], priority=1)
    assert (job.version, job.name, job.payload) == (2, "renamed", [1])
    assert play.job(submission) == job
    with pytest.raises(RunNotFound):
        play.seen(before)
    run = play.only_run(submission)
    assert (run.run_id, run.priority) == (run_of(submission, fire), 1)
    [standing] = play.ledger.due_schedules(play.at(86_400), 10)
    assert (standing.next_fire_at, standing.job) == (fire + HOUR, job)


def test_what_is_due_or_has_begun_stays(play: Play) -> None:
    submission = hourly(play.at(-1))
    due = play.submitted(submission)
    retrying = play.again(due, -0.5, "now:1")
    play.end(play.start(retrying), Verdict.FAILED)
    reschedule(play, submission, play.at(600))
    assert play.state(due) is RunState.SCHEDULED
    assert play.state(retrying) is RunState.RETRYING
    assert len(play.runs(submission)) == 3


def test_what_a_person_asked_for_stays(play: Play) -> None:
    submission = hourly(play.at(600))
    extra = play.again(play.submitted(submission), 300, "now:later")
    reschedule(play, submission, play.at(1200))
    assert play.state(extra) is RunState.SCHEDULED


def test_the_same_fire_again_is_the_same_run(play: Play) -> None:
    submission = hourly(play.at(600))
    before = play.submitted(submission)
    reschedule(play, submission, submission.first_fire, priority=1)
    after = play.only_run(submission)
    assert (after.run_id, after.priority) == (before.run_id, 1)


def test_a_schedule_without_a_future_has_none(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    reschedule(play, submission, None)
    assert play.runs(submission) == []
    assert play.ledger.due_schedules(play.at(86_400), 10) == []


def test_a_first_fire_beyond_the_ready_days_waits_in_the_schedule(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    far = play.at(30 * 86_400)
    reschedule(play, submission, far)
    assert play.runs(submission) == []
    [standing] = play.ledger.due_schedules(far + timedelta(seconds=1), 10)
    assert standing.next_fire_at == far


def test_a_one_off_may_become_recurring_and_back(play: Play) -> None:
    once, often = one_off(play.at(600)), hourly(play.at(900))
    play.submit(once)
    job = reschedule(play, once, often.first_fire, schedule=often.job.schedule)
    assert job.repeats
    back = reschedule(play, once, once.first_fire, schedule=once.job.schedule)
    assert not back.repeats


def test_a_paused_job_stays_paused(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    play.ledger.pause(TENANT, submission.job.job_id)
    job = reschedule(play, submission, play.at(1200))
    assert (job.status, job.version) == (JobStatus.PAUSED, 3)


def test_when_it_was_made_is_not_changed(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    before = play.job(submission)
    changed = msgspec.structs.replace(before, created_at=None, updated_at=None, version=77)
    after = play.ledger.reschedule(changed, expected_version=1, first_fire=None, next_fire=None)
    assert (after.created_at, after.version) == (before.created_at, 2)
    assert before.updated_at is not None
    assert after.updated_at is not None
    assert after.updated_at >= before.updated_at


def test_what_the_job_was_before_is_kept(play: Play) -> None:
    submission = hourly(play.at(600), tags=("a",), overlap=Overlap.QUEUE)
    play.submit(submission)
    before = play.job(submission)
    after = reschedule(play, submission, play.at(1200), overlap=Overlap.ALLOW, tags=())
    assert play.ledger.job_versions(TENANT, before.job_id) == [before, after]


def test_a_change_to_what_somebody_else_has_changed_is_refused(play: Play) -> None:
    submission = hourly(play.at(600))
    run = play.submitted(submission)
    stale = play.job(submission)
    play.ledger.pause(TENANT, stale.job_id)
    with pytest.raises(VersionConflict):
        play.ledger.reschedule(stale, expected_version=1, first_fire=None, next_fire=None)
    assert play.only_run(submission) == run
    assert play.job(submission).version == 2


def test_nobody_changes_an_unknown_job_or_another_tenants(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    job = play.job(submission)
    for unknown in ({"job_id": uuid4()}, {"tenant": OTHER_TENANT}):
        with pytest.raises(JobNotFound):
            play.ledger.reschedule(
                msgspec.structs.replace(job, **unknown),
                expected_version=1,
                first_fire=None,
                next_fire=None,
            )
    assert play.job(submission) == job


def test_a_first_fire_that_is_late_wakes_at_once(play: Play) -> None:
    """Of a one-off: a recurring job goes on with the next."""
    submission, late = one_off(play.at(600)), one_off(play.at(-30))
    play.submit(submission)
    reschedule(play, submission, late.first_fire, schedule=late.job.schedule)
    assert play.only_run(submission).wake_at is not None


def test_an_ordered_job_takes_its_place_in_the_line_again(play: Play) -> None:
    first = one_off(play.at(600), ordering_key="k")
    play.submit(first)
    reschedule(play, first, play.at(-1), ordering_key="k")
    second = play.submitted(one_off(play.at(-0.5), ordering_key="k"))
    play.claim(second)
    assert play.state(second) is RunState.PARKED
    play.finish(play.only_run(first))
    assert play.state(second) is RunState.SCHEDULED


@on_every_version
def test_fires_of_the_old_schedule_that_nobody_planned_in_time_are_told_of(play: Play) -> None:
    """Every hour, and nobody has planned for three of them; the last, a second old, may run."""
    submission = hourly(play.at(-3 * 3600 - 1))
    play.submit(submission)

    reschedule(play, submission, play.at(600), schedule=hourly(play.at(600)).job.schedule)

    runs = sorted(play.runs(submission), key=lambda run: run.run_id)
    assert [run.state for run in runs] == [
        RunState.SCHEDULED,
        RunState.SKIPPED,
        RunState.SCHEDULED,
        RunState.SCHEDULED,
    ]
    assert (runs[1].reason, runs[1].missed_count) == (SkipReason.MISSED_WINDOW, 2)
