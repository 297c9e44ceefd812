"""Many at once, on jobs, graphs, plans and leases."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import msgspec

from lamplighter.domain.errors import InvalidGraph, VersionConflict
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Calendar, Window
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Lease
from tests.adapters.ledger.builders import HOUR, TENANT, edge, following, hourly, one_off
from tests.adapters.ledger.play import A_MINUTE, Play, at_once, run_of, together
from tests.adapters.ledger.stores import on_every_version

THREADS = 8
WORKERS = [f"w{n}" for n in range(THREADS)]
ROUNDS = 3


@on_every_version
def test_one_submission_from_many_is_written_once(play: Play) -> None:
    for fingerprint in (None, b"a"):
        submission = one_off(play.at(60), fingerprint=fingerprint)
        accepted = at_once(play.submit, [submission] * THREADS)
        assert sum(len(each.created) for each in accepted) == 1
        # Everybody is told of the run, to tell the queue of it: whoever wrote it may be dead.
        assert len({run.run_id for each in accepted for run in each.runs}) == 1
        assert len(play.runs(submission)) == 1


def test_one_run_asked_for_by_many_is_written_once(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    fire = play.at(-1)
    add = partial(play.ledger.add_run, TENANT, run.job_id, "now:1")
    added = at_once(add, [fire] * THREADS)
    assert {due.run_id for some in added for due in some} == {play.runs(run.job_id)[-1].run_id}
    assert len(play.runs(run.job_id)) == 2


def wait_for(play: Play, job: Submission, upstream: Submission) -> None:
    """Edit a job to wait for another."""
    edited = msgspec.structs.replace(play.job(job), after=(edge(upstream),))
    play.ledger.reschedule(edited, expected_version=1, first_fire=job.first_fire, next_fire=None)


@on_every_version
def test_two_edits_that_close_a_cycle_between_them_are_not_both_accepted(play: Play) -> None:
    for _ in range(ROUNDS):
        left, right = one_off(play.at(60)), one_off(play.at(60))
        play.submit(left, right)
        one, other = partial(wait_for, play, left, right), partial(wait_for, play, right, left)
        answers = together(one, other)
        refused = [each for each in answers if each is not None]
        assert [type(each) for each in refused] == [InvalidGraph]


def test_a_ring_of_edits_is_broken_somewhere(play: Play) -> None:
    jobs = [one_off(play.at(60)) for _ in range(4)]
    play.submit(*jobs)
    pairs = list(zip(jobs, [*jobs[1:], jobs[0]], strict=True))
    answers = together(*(partial(wait_for, play, job, upstream) for job, upstream in pairs))
    assert [type(each) for each in answers if each is not None] == [InvalidGraph]


def test_of_many_edits_to_one_version_one_is_accepted(play: Play) -> None:
    submission = hourly(play.at(600))
    play.submit(submission)
    job = play.job(submission)

    def rename(n: int) -> str:
        edited = msgspec.structs.replace(job, name=f"name {n}")
        first, following_one = submission.first_fire, submission.next_fire
        return play.ledger.reschedule(
            edited, expected_version=1, first_fire=first, next_fire=following_one
        ).name

    answers = together(*(partial(rename, n) for n in range(THREADS)))
    [name] = [each for each in answers if isinstance(each, str)]
    assert {type(each) for each in answers} == {str, VersionConflict}
    assert (play.job(submission).name, play.job(submission).version) == (name, 2)


def test_a_pause_from_many_is_one_version(play: Play) -> None:
    run = play.submitted(hourly(play.at(60)))
    paused = at_once(partial(play.ledger.pause, TENANT), [run.job_id] * THREADS)
    assert {job.version for job in paused} == {2}


@on_every_version
def test_a_reschedule_and_a_plan_leave_only_the_new_future(play: Play) -> None:
    lease = play.lease()
    for _ in range(ROUNDS):
        submission = hourly(play.at(600))
        play.submit(submission)
        assert submission.next_fire is not None
        plan = play.planned(submission, [submission.next_fire])
        job, fire = play.job(submission), play.at(900)

        change = partial(
            play.ledger.reschedule,
            job,
            expected_version=1,
            first_fire=fire,
            next_fire=fire + HOUR,
        )
        answers = together(partial(play.ledger.plan, lease, [plan]), change)
        assert not any(isinstance(each, Exception) for each in answers)
        assert play.only_run(submission).run_id == run_of(submission, fire)
        standing = play.ledger.due_schedules(play.at(86_400), 100)
        mine = [each for each in standing if each.job.job_id == job.job_id]
        assert [each.next_fire_at for each in mine] == [fire + HOUR]


def test_one_plan_from_many_is_written_once(play: Play) -> None:
    submission = hourly(play.at(60))
    job = following(submission)
    play.submit(submission, job)
    assert submission.next_fire is not None
    lease, plan = play.lease(), play.planned(submission, [submission.next_fire])
    planned = at_once(partial(play.ledger.plan, lease), [[plan]] * THREADS)
    assert sum(len(each) for each in planned) == 1
    assert (len(play.runs(submission)), len(play.runs(job))) == (2, 2)


def end_and_free(play: Play, upstream: Submission) -> int:
    run = play.finish(play.only_run(upstream))
    return len(play.ledger.free_dependents([run.run_id]))


def test_a_dependent_is_freed_once_by_the_last_of_its_upstreams(play: Play) -> None:
    for _ in range(ROUNDS):
        upstreams = [one_off(play.at(-1)) for _ in range(4)]
        job = following(*upstreams)
        play.submit(*upstreams, job)

        freed = at_once(partial(end_and_free, play), upstreams)
        assert sum(freed) == 1
        assert play.only_run(job).state is RunState.SCHEDULED


def test_a_dependent_submitted_while_its_upstream_ends_is_not_forgotten(play: Play) -> None:
    for _ in range(2 * ROUNDS):
        upstream = one_off(play.at(-1))
        play.submit(upstream)
        job = following(upstream)
        end, submit = partial(end_and_free, play, upstream), partial(play.submit, job)
        assert not any(isinstance(each, Exception) for each in together(end, submit))
        assert play.only_run(job).state is RunState.SCHEDULED


def take(play: Play, name: str, holder: str) -> Lease | None:
    return play.ledger.acquire_lease(name, holder, A_MINUTE)


@on_every_version
def test_a_lease_has_one_holder(play: Play) -> None:
    for _ in range(ROUNDS):
        answers = at_once(partial(take, play, uuid4().hex), WORKERS)
        [lease] = [each for each in answers if each is not None]
        assert lease.epoch == 1
        assert play.ledger.renew_lease(lease, A_MINUTE).holder == lease.holder


def test_an_expired_lease_goes_to_one_of_many(play: Play) -> None:
    play.ledger.acquire_lease("watcher", "old", timedelta(seconds=-1))
    answers = at_once(partial(take, play, "watcher"), WORKERS)
    assert [each.epoch for each in answers if each is not None] == [2]


def test_calendars_saved_by_many_have_a_version_each(play: Play) -> None:
    calendar = Calendar("days", windows=(Window(play.at(0), play.at(60)),))
    saved = at_once(partial(play.ledger.save_calendar, TENANT), [calendar] * 5)
    assert sorted(each.version for each in saved) == [1, 2, 3, 4, 5]


def test_days_are_made_ready_from_many_at_once(play: Play) -> None:
    first, last = play.at(-65 * 86_400), play.at(-62 * 86_400)
    at_once(partial(play.ledger.ensure_partitions, first), [last] * 4)
    run = play.submitted(hourly(play.at(60)))
    assert play.again(run, -63 * 86_400, "backfill:1").state is RunState.SCHEDULED
