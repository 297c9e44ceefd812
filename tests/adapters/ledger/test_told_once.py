"""Each fire is told of once, however often its job is edited, and by whose clock."""

import time
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.schedule import Schedule, fires_between, next_fire
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Missed
from tests.adapters.ledger.builders import HOUR, TENANT, hourly, job
from tests.adapters.ledger.play import Play, run_of
from tests.adapters.ledger.stores import on_every_version

STEP = timedelta(milliseconds=100)
MOMENT = timedelta(milliseconds=1)
# What whoever edits takes off its clock, so that no fire falls between that and the ledger's.
MARGIN = timedelta(seconds=1)
BOUND_SECONDS = 10.0


def unplanned(play: Play, *, paused: bool) -> Submission:
    """Ten fires a second, one of them written down, and nobody plans."""
    fire = play.at()
    schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=0.1, start_at=fire - HOUR)
    submission = Submission(job(schedule), fire, fire + STEP)
    play.submit(submission)
    if paused:
        play.ledger.pause(TENANT, submission.job.job_id)
    return submission


def edit(play: Play, submission: Submission, priority: int, behind: timedelta = MARGIN) -> Job:
    """By a clock that is so far behind, which knows nothing of where the schedule stands."""
    before = play.job(submission)
    first = next_fire(before.schedule, play.at() - behind)
    assert first is not None
    return play.ledger.reschedule(
        msgspec.structs.replace(before, priority=priority),
        expected_version=before.version,
        first_fire=first,
        next_fire=next_fire(before.schedule, first),
    )


def standing(play: Play) -> datetime:
    [each] = play.ledger.due_schedules(play.at(86_400), 10)
    return each.next_fire_at


def let_some_fires_pass(play: Play) -> None:
    until, give_up = standing(play) + 3 * STEP, time.monotonic() + BOUND_SECONDS
    while play.ledger.now() < until:
        assert time.monotonic() < give_up, "the ledger's clock stands still"
        time.sleep(0.01)


def plan(play: Play, submission: Submission, fires: list[datetime], **fields: Any) -> None:
    planned = play.planned(submission, fires, seen_fire=standing(play), **fields)
    play.ledger.plan(play.lease(), [planned])


def told(play: Play, submission: Submission) -> list[datetime]:
    """Each fire as often as a row tells of it."""
    schedule = submission.job.schedule
    return sorted(
        fire
        for run in play.runs(submission)
        for fire in fires_between(schedule, run.fire_at, (run.missed_to or run.fire_at) + MOMENT)
    )


def all_fires(play: Play, submission: Submission) -> list[datetime]:
    """Up to where the schedule stands: from there on, planning will tell."""
    assert submission.first_fire is not None
    return fires_between(submission.job.schedule, submission.first_fire, standing(play))


@on_every_version
@pytest.mark.parametrize("paused", [True, False], ids=["paused", "scheduled"])
@pytest.mark.parametrize("late", [0, 2], ids=["at once", "kept waiting"])
def test_edits_with_seconds_between_tell_of_each_fire_once(
    play: Play, paused: bool, late: int
) -> None:
    submission = unplanned(play, paused=paused)
    for priority in (1, 2, 3):
        let_some_fires_pass(play)
        edit(play, submission, priority, MARGIN + timedelta(seconds=late))
        assert told(play, submission) == all_fires(play, submission)


def test_what_a_pause_lets_pass_is_one_row_for_each_edit(play: Play) -> None:
    submission = unplanned(play, paused=True)
    for priority in (1, 2):
        let_some_fires_pass(play)
        edit(play, submission, priority)
    rows = sorted(play.runs(submission), key=lambda run: run.run_id)
    assert [row.state for row in rows[1:]] == [RunState.SKIPPED, RunState.SKIPPED]
    assert {row.reason for row in rows[1:]} == {SkipReason.PAUSED}


@pytest.mark.parametrize("change", ["edited", "another schedule"])
def test_by_a_clock_that_is_behind_the_schedule_still_stands_ahead(play: Play, change: str) -> None:
    """All is planned; the fires that are given had their runs an hour and two hours ago."""
    submission = hourly(play.at(-2 * 3600 - 5))
    play.submit(submission)
    assert submission.first_fire is not None
    fires = [submission.first_fire + n * HOUR for n in range(5)]
    plan(play, submission, fires[1:4])
    before = play.job(submission)
    after = msgspec.structs.replace(before, name=change)
    if change == "another schedule":
        often = msgspec.structs.replace(before.schedule, interval_seconds=1800)
        after = msgspec.structs.replace(after, schedule=often)

    play.ledger.reschedule(
        after, expected_version=before.version, first_fire=fires[0], next_fire=fires[1]
    )

    ahead = fires[3] if change == "edited" else fires[2] + HOUR / 2
    assert standing(play) == ahead
    assert [run.fire_at for run in reversed(play.runs(submission))] == fires[:3]
    assert play.job(submission).status is JobStatus.SCHEDULED


@on_every_version
def test_a_missed_row_whose_first_fires_have_runs_begins_after_them(play: Play) -> None:
    """Over midnight too, whenever this is run; nothing is left of a row that has nothing new."""
    submission = hourly(play.at(-48 * 3600 - 5))
    play.submit(submission)
    assert submission.first_fire is not None
    fires = [submission.first_fire + n * HOUR for n in range(30)]
    gap = Missed(fires[0], fires[28], 29, SkipReason.MISSED_WINDOW)
    nothing = Missed(fires[0], fires[0], 1, SkipReason.MISSED_WINDOW)
    plan(play, submission, fires[:26])

    plan(play, submission, [], missed=(gap, nothing), next_fire_at=fires[29])

    row = play.seen(run_of(submission, fires[26]))
    assert (row.state, row.missed_to, row.missed_count) == (RunState.SKIPPED, fires[28], 3)
    assert told(play, submission) == fires[:29]
