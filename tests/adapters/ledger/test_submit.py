"""Submit: jobs and first runs are written whole, once, or not at all."""

from datetime import timedelta
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.errors import IdempotencyConflict, InvalidGraph, JobNotFound
from lamplighter.domain.job import JobStatus, Policy
from lamplighter.domain.policy import Backoff, OnAmbiguous, Overlap, TriggerRule
from lamplighter.domain.run import Due
from lamplighter.domain.schedule import CalendarUse
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, following, hourly, one_off
from tests.adapters.ledger.play import Play, run_of
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_submitted_job_has_its_first_run(play: Play) -> None:
    fire = play.at(60)
    submission = one_off(fire, priority=2, pool="eu")
    accepted = play.submit(submission)
    assert accepted.created == {submission.job.job_id}
    assert accepted.runs == [Due(run_of(submission, fire, "eu"), TENANT, "eu", 2, fire, 0)]
    assert [run.as_due() for run in accepted.first] == accepted.runs
    run = play.only_run(submission)
    assert (run.state, run.fire_at, run.due_at) == (RunState.SCHEDULED, fire, fire)
    assert (run.fence, run.attempt_number, run.losses, run.wake_at) == (0, 1, 0, None)


@on_every_version
def test_a_job_is_read_back_as_it_was_submitted(play: Play) -> None:
    fire = play.at(60)
    timing = {"jitter_seconds": 0.0, "calendar": CalendarUse(exclude=("holidays",))}
    policy = Policy(
        backoff=Backoff(2, 3, 40, jitter=False),
        fan_out=("eu", "us"),
        on_ambiguous=OnAmbiguous.HOLD,
        trigger_rule=TriggerRule.ALL_DONE,
        critical=True,
        metadata={"team": "billing"},
    )
    submission = hourly(
        fire,
        timing=timing,
        name="bills",
        target={"type": "http", "url": "https://example.org/bill"},
        payload={"month": 5, "tags": ["a", None]},
        priority=9,
        max_retries=7,
        timeout_seconds=30,
        start_deadline_seconds=120,
        expires_at=fire + timedelta(days=1),
        overlap=Overlap.QUEUE,
        ordering_key="customer-1",
        concurrency_key="bank",
        max_concurrency=3,
        tags=("monthly", "money"),
        policy=policy,
    )
    play.submit(submission)
    kept = play.job(submission)
    assert kept.created_at is not None
    assert kept.updated_at is not None
    expected = msgspec.structs.replace(
        submission.job, repeats=True, created_at=kept.created_at, updated_at=kept.updated_at
    )
    assert kept == expected
    assert (kept.status, kept.version) == (JobStatus.SCHEDULED, 1)


def test_a_job_that_fans_out_has_a_run_in_every_pool(play: Play) -> None:
    submission = one_off(play.at(60), policy=Policy(fan_out=("eu", "us")))
    accepted = play.submit(submission)
    assert {due.pool for due in accepted.runs} == {"eu", "us"}
    assert {run.pool for run in play.runs(submission)} == {"eu", "us"}


def test_jitter_delays_the_start_and_not_the_fire(play: Play) -> None:
    submission = hourly(play.at(60), timing={"jitter_seconds": 900.0})
    [due] = play.submit(submission).runs
    run = play.only_run(submission)
    assert run.fire_at == submission.first_fire
    assert run.fire_at <= run.due_at <= run.fire_at + timedelta(seconds=900)
    assert due.due_at == run.due_at


def test_a_run_that_is_born_late_is_woken_at_once(play: Play) -> None:
    run = play.submitted(one_off(play.at(-30)))
    assert run.wake_at is not None
    assert run.wake_at <= play.ledger.now()


def test_a_first_fire_beyond_the_ready_days_waits_in_its_schedule(play: Play) -> None:
    far = play.at(30 * 86_400)
    submission = one_off(far)
    accepted = play.submit(submission)
    assert (accepted.runs, accepted.first) == ([], [])
    assert play.runs(submission) == []
    [standing] = play.ledger.due_schedules(far + timedelta(seconds=1), 10)
    assert (standing.job.job_id, standing.next_fire_at) == (submission.job.job_id, far)


def test_a_far_one_off_of_two_pools_waits_in_one_schedule(play: Play) -> None:
    far = play.at(30 * 86_400)
    submission = one_off(far, policy=Policy(fan_out=("default", "tasks")))
    play.submit(submission)
    [standing] = play.ledger.due_schedules(far + timedelta(seconds=1), 10)
    assert (standing.job.job_id, standing.next_fire_at) == (submission.job.job_id, far)


def test_a_first_fire_before_the_ready_days_is_not_lost(play: Play) -> None:
    """Accepted while the ledger was away for days: it is planned like any other late fire."""
    submission = one_off(play.at(-20 * 86_400))
    play.submit(submission)
    standing = [each.job.job_id for each in play.ledger.due_schedules(play.at(), 10)]
    written = [run.job_id for run in play.runs(submission)]
    assert standing + written == [submission.job.job_id]


def test_a_recurring_job_stands_at_its_next_fire(play: Play) -> None:
    submission = hourly(play.at(60))
    play.submit(submission)
    [standing] = play.ledger.due_schedules(play.at(2 * 3600), 10)
    assert standing.next_fire_at == submission.next_fire
    assert standing.job.repeats


def test_a_known_job_with_the_same_body_is_left_alone(play: Play) -> None:
    first = one_off(play.at(60), fingerprint=b"a")
    play.submit(first)
    other = one_off(play.at(60), fingerprint=b"b")
    again = play.submit(first, other)
    assert again.created == {other.job.job_id}
    assert len(play.runs(first)) == 1


@on_every_version
def test_who_submits_again_tells_the_queue_again_of_what_waits(play: Play) -> None:
    """The first time it may have died before; what is far away is loaded in time anyway."""
    near, far, begun = one_off(play.at(60)), one_off(play.at(3600)), one_off(play.at(-1))
    first = play.submit(near, far, begun)
    play.start(play.only_run(begun))

    again = play.submit(near, far, begun)

    assert (again.created, again.first) == (frozenset(), [])
    assert again.runs == [due for due in first.runs if due.run_id == play.only_run(near).run_id]


def test_a_known_job_without_a_fingerprint_is_left_alone(play: Play) -> None:
    submission = one_off(play.at(60))
    play.submit(submission)
    again = play.submit(submission)
    assert again.created == frozenset()
    assert len(play.runs(submission)) == 1


@pytest.mark.parametrize(("known", "given"), [(b"a", b"b"), (b"a", None), (None, b"a")], ids=str)
def test_a_known_job_with_another_body_is_refused(
    play: Play, known: bytes | None, given: bytes | None
) -> None:
    first = one_off(play.at(60), fingerprint=known)
    play.submit(first)
    bystander = one_off(play.at(60))
    with pytest.raises(IdempotencyConflict):
        play.submit(bystander, msgspec.structs.replace(first, fingerprint=given))
    with pytest.raises(JobNotFound):
        play.job(bystander)


def test_another_tenants_job_id_is_refused_whatever_the_body(play: Play) -> None:
    first = one_off(play.at(60), fingerprint=b"a")
    play.submit(first)
    theirs = msgspec.structs.replace(first.job, tenant=OTHER_TENANT)
    with pytest.raises(IdempotencyConflict):
        play.submit(msgspec.structs.replace(first, job=theirs))


def test_the_same_job_twice_in_a_batch_is_written_once(play: Play) -> None:
    submission = one_off(play.at(60), fingerprint=b"a")
    accepted = play.submit(submission, submission)
    assert accepted.created == {submission.job.job_id}
    assert len(accepted.runs) == 1


def test_one_id_for_two_bodies_in_a_batch_is_refused(play: Play) -> None:
    submission = one_off(play.at(60), fingerprint=b"a")
    with pytest.raises(IdempotencyConflict):
        play.submit(submission, msgspec.structs.replace(submission, fingerprint=b"b"))
    with pytest.raises(JobNotFound):
        play.job(submission)


@on_every_version
def test_a_batch_with_one_bad_job_leaves_nothing(play: Play) -> None:
    good = [one_off(play.at(60)) for _ in range(49)]
    with pytest.raises(InvalidGraph):
        play.submit(*good[:25], following(uuid4()), *good[25:])
    assert play.ledger.count_runs(RunState.SCHEDULED) == 0
    assert play.ledger.due_schedules(play.at(86_400), 10) == []
    for submission in good:
        with pytest.raises(JobNotFound):
            play.job(submission)


def test_nothing_submitted_is_nothing_done(ledger: Ledger) -> None:
    accepted = ledger.submit([])
    assert (accepted.created, accepted.runs) == (frozenset(), [])
