"""Planning lags, and a job is changed: no fire of what it was until then is lost by that."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lamplighter.domain.job import Job, JobStatus, Policy
from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import CalendarUse, Schedule, jitter_ms
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import TENANT, following, job
from tests.adapters.ledger.play import Play, run_of, together
from tests.adapters.ledger.stores import on_every_version

MINUTE = timedelta(minutes=1)


def behind(play: Play, minutes: int = 10, *, timing: Any = None, **fields: Any) -> Submission:
    """A minutely job that was planned up to so many minutes ago; its last fire is 5 s old."""
    fire = play.at(-5) - minutes * MINUTE
    schedule = Schedule(
        ScheduleType.INTERVAL, interval_seconds=60, start_at=fire - 1000 * MINUTE, **(timing or {})
    )
    submission = Submission(job(schedule, **fields), fire, fire + MINUTE)
    play.submit(submission)
    return submission


def rename(play: Play, submission: Submission) -> Job:
    return edit(play, submission, name="renamed")


def edit(play: Play, submission: Submission, **fields: Any) -> Job:
    before = play.job(submission)
    last = fires_of(submission, 12)[-1]
    return play.ledger.reschedule(
        msgspec.structs.replace(before, **fields),
        expected_version=before.version,
        first_fire=last,
        next_fire=last + MINUTE,
    )


def cancel(play: Play, submission: Submission) -> Job:
    return play.ledger.cancel_job(TENANT, submission.job.job_id)


def pause(play: Play, submission: Submission) -> Job:
    return play.ledger.pause(TENANT, submission.job.job_id)


def resume(play: Play, submission: Submission) -> Job:
    return play.ledger.resume(TENANT, submission.job.job_id)


CHANGES = [rename, cancel, pause]


def fires_of(submission: Submission, count: int) -> list[datetime]:
    """From the first that the ledger got to see."""
    assert submission.first_fire is not None
    return [submission.first_fire + n * MINUTE for n in range(count)]


def told(play: Play, submission: Submission) -> list[tuple[datetime, RunState, int]]:
    """What has become of the fires up to now, oldest first."""
    now = play.ledger.now()
    runs = [run for run in reversed(play.runs(submission)) if run.fire_at <= now]
    return [(run.fire_at, run.state, run.missed_count) for run in runs]


def standing(play: Play) -> list[datetime]:
    return [each.next_fire_at for each in play.ledger.due_schedules(play.at(86_400), 10)]


@on_every_version
@pytest.mark.parametrize("change", CHANGES)
def test_fires_that_nobody_planned_are_caught_up_by_what_changes_the_job(
    play: Play, change: Callable[[Play, Submission], Job]
) -> None:
    """The last late one is to run, those before it are missed, the last of all is not late."""
    submission = behind(play)
    fires = fires_of(submission, 11)

    change(play, submission)

    open_state = RunState.CANCELLED if change is cancel else RunState.SCHEDULED
    assert told(play, submission) == [
        (fires[0], open_state, 1),
        (fires[1], RunState.SKIPPED, 8),
        (fires[9], open_state, 1),
        (fires[10], open_state, 1),
    ]
    missed = play.seen(run_of(submission, fires[1]))
    assert (missed.reason, missed.missed_to) == (SkipReason.MISSED_WINDOW, fires[8])


@pytest.mark.parametrize(
    ("policy", "skipped"),
    [(CatchUp.ALL, 0), (CatchUp.NONE, 9)],
)
def test_catch_up_is_that_of_the_job_until_then(play: Play, policy: CatchUp, skipped: int) -> None:
    submission = behind(play, timing={"catch_up": CatchUpPolicy(policy)})
    calm = msgspec.structs.replace(submission.job.schedule, catch_up=CatchUpPolicy())
    edit(play, submission, schedule=calm)
    rows = told(play, submission)
    missed = [count for _, state, count in rows if state is RunState.SKIPPED]
    assert sum(missed) == skipped
    assert sum(count for *_, count in rows) == 11


def test_after_an_edit_planning_goes_on_where_the_edit_says(play: Play) -> None:
    submission = behind(play)
    rename(play, submission)
    assert standing(play) == [fires_of(submission, 13)[-1]]


@pytest.mark.parametrize("change", [pause, resume])
def test_pause_and_resume_move_planning_up_to_now(
    play: Play, change: Callable[[Play, Submission], Job]
) -> None:
    submission = behind(play)
    if change is resume:
        pause(play, submission)
    changed = change(play, submission)
    [each] = play.ledger.due_schedules(play.at(86_400), 10)
    assert (each.next_fire_at, each.job.version) == (fires_of(submission, 12)[-1], changed.version)


def paused_behind(play: Play) -> Submission:
    """Paused when planning stood ahead; a plan that goes back stands for one that fell behind."""
    there = behind(play)
    ahead = Submission(there.job, there.first_fire, fires_of(there, 20)[-1])
    play.ledger.cancel_job(TENANT, there.job.job_id)
    ahead = msgspec.structs.replace(ahead, job=job(there.job.schedule))
    play.submit(ahead)
    pause(play, ahead)
    back = play.planned(ahead, [], next_fire_at=there.next_fire)
    play.ledger.plan(play.lease(), [back])
    return ahead


def test_fires_of_a_pause_that_nobody_planned_are_skipped_as_paused(play: Play) -> None:
    submission = paused_behind(play)
    fires = fires_of(submission, 11)

    resume(play, submission)

    row = play.seen(run_of(submission, fires[1]))
    assert (row.state, row.reason) == (RunState.SKIPPED, SkipReason.PAUSED)
    assert (row.missed_to, row.missed_count) == (fires[10], 10)
    assert standing(play) == [fires[10] + MINUTE]


@on_every_version
def test_a_month_of_a_fire_a_second_is_settled_in_one_step(play: Play) -> None:
    start = play.at(-30 * 86_400)
    schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=1, start_at=start)
    submission = Submission(job(schedule), start, start + timedelta(seconds=1))
    play.submit(submission)

    cancel(play, submission)

    rows = play.ledger.runs(TENANT, submission.job.job_id, limit=1000)
    assert sum(run.missed_count for run in rows) in range(30 * 86_400, 30 * 86_400 + 60)
    assert len(rows) < 120


def test_a_lagging_job_has_its_runs_in_every_pool(play: Play) -> None:
    submission = behind(play, policy=Policy(fan_out=("eu", "us")))
    cancel(play, submission)
    runs = play.runs(submission)
    assert {run.pool: len([one for one in runs if one.pool == run.pool]) for run in runs} == {
        "eu": 4,
        "us": 4,
    }


def test_what_jitter_still_holds_back_is_not_missed(play: Play) -> None:
    submission = behind(play, timing={"jitter_seconds": 86_400})
    late = timedelta(minutes=11)
    if timedelta(milliseconds=jitter_ms(submission.job.job_id, submission.job.schedule)) < late:
        pytest.skip("this one job in 130 is hardly held back")
    rename(play, submission)
    assert {(state, count) for _, state, count in told(play, submission)} == {
        (RunState.SCHEDULED, 1)
    }
    assert len(told(play, submission)) == 11


def test_a_one_off_that_nobody_planned_runs(play: Play) -> None:
    fire = play.at(-7200)
    schedule = Schedule(ScheduleType.FUTURE, schedule_time=fire)
    submission = Submission(job(schedule), play.at(-10_000), fire)
    play.submit(submission)
    pause(play, submission)
    assert play.state(run_of(submission, fire)) is RunState.SCHEDULED
    assert standing(play) == []


def test_a_job_that_cannot_be_planned_can_be_cancelled(play: Play) -> None:
    submission = behind(play, timing={"calendar": CalendarUse(exclude=("unknown",))})
    assert cancel(play, submission).status is JobStatus.CANCELLED


def test_planning_and_an_edit_at_once_leave_no_fire_without_a_row(play: Play) -> None:
    submission = behind(play)
    fires = fires_of(submission, 11)
    plan = play.planned(submission, fires[1:], next_fire_at=fires[10] + MINUTE)
    lease = play.lease()

    answers = together(lambda: play.ledger.plan(lease, [plan]), lambda: rename(play, submission))

    assert [each for each in answers if isinstance(each, Exception)] == []
    assert sum(count for *_, count in told(play, submission)) == 11


@pytest.mark.parametrize("change", CHANGES)
def test_what_follows_a_lagging_job_has_its_runs_too(
    play: Play, change: Callable[[Play, Submission], Job]
) -> None:
    submission = behind(play)
    after = following(submission)
    play.submit(after)

    change(play, submission)

    led = [fire for fire, _, count in told(play, submission) if count == 1]
    assert [fire for fire, *_ in told(play, after)] == led
    if change is cancel:
        assert {state for _, state, _ in told(play, after)} == {RunState.SKIPPED}
