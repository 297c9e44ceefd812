"""Jobs that were accepted elsewhere and must be refused: kept to be seen, never to run."""

import pytest

from lamplighter.domain.errors import IdempotencyConflict, InvalidGraph, JobEnded
from lamplighter.domain.job import JobStatus, Policy
from tests.adapters.ledger.builders import TENANT, following, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version

REASON = "calendar: there is no calendar 'holidays'"


@on_every_version
def test_a_rejected_job_is_seen_with_its_reason_and_has_no_runs(play: Play) -> None:
    once, often = one_off(play.at(60), policy=Policy(metadata={"a": 1})), hourly(play.at(60))
    kept = play.ledger.reject([once, often], REASON)
    assert kept == {once.job.job_id, often.job.job_id}
    job = play.job(once)
    assert (job.status, job.version) == (JobStatus.REJECTED, 1)
    assert job.policy == Policy(metadata={"a": 1}, rejection=REASON)
    assert play.runs(once) == play.runs(often) == []
    assert play.ledger.due_schedules(play.at(86_400), 10) == []


def test_a_job_that_is_known_is_not_rejected(play: Play) -> None:
    known = one_off(play.at(60), fingerprint=b"1")
    play.submit(known)
    assert play.ledger.reject([known], REASON) == frozenset()
    assert play.job(known).status is JobStatus.SCHEDULED
    assert len(play.runs(known)) == 1


def test_rejecting_twice_is_rejecting_once(play: Play) -> None:
    job = one_off(play.at(60))
    play.ledger.reject([job], REASON)
    assert play.ledger.reject([job], "another reason") == frozenset()
    assert play.job(job).policy.rejection == REASON


def test_a_rejected_job_is_submitted_anew_under_another_id_only(play: Play) -> None:
    job = one_off(play.at(60), fingerprint=b"1")
    play.ledger.reject([job], REASON)
    assert play.submit(job).created == frozenset()
    assert play.job(job).status is JobStatus.REJECTED
    other = one_off(play.at(60), fingerprint=b"2", job_id=job.job.job_id)
    with pytest.raises(IdempotencyConflict):
        play.submit(other)


def test_a_rejected_job_has_ended_for_everybody(play: Play) -> None:
    job = one_off(play.at(60))
    play.ledger.reject([job], REASON)
    for change in (play.ledger.pause, play.ledger.resume):
        with pytest.raises(JobEnded):
            change(TENANT, job.job.job_id)
    with pytest.raises(JobEnded):
        play.ledger.add_run(TENANT, job.job.job_id, "now:1", play.at())
    with pytest.raises(JobEnded):
        play.ledger.reschedule(job.job, expected_version=1, first_fire=None, next_fire=None)
    assert play.ledger.cancel_job(TENANT, job.job.job_id).status is JobStatus.REJECTED
    with pytest.raises(InvalidGraph):
        play.submit(following(job))


def test_a_job_with_upstreams_is_rejected_without_them(play: Play) -> None:
    upstream = one_off(play.at(60))
    play.submit(upstream)
    dependent = following(upstream)
    play.ledger.reject([dependent], REASON)
    assert play.job(dependent).after == ()
    assert play.runs(dependent) == []
