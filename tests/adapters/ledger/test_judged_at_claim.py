"""Pause, expiry and catch-up are judged when a run is claimed, and each skip has its reason."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.domain.policy import CatchUp, CatchUpPolicy
from lamplighter.domain.run import Refusal, Run, Submission, Verdict
from lamplighter.domain.schedule import Calendar, CalendarUse, Window, jitter_ms
from lamplighter.domain.states import RunState, SkipReason
from tests.adapters.ledger.builders import TENANT, following, hourly, one_off
from tests.adapters.ledger.play import ANY_SILENCE, Play
from tests.adapters.ledger.stores import on_every_version


def starts(play: Play, run: Run, worker: str = "w1") -> bool:
    return [claimed.run_id for claimed in play.claim(run, worker=worker).claimed] == [run.run_id]


def refused(play: Play, run: Run) -> SkipReason | None:
    assert play.claim(run).refused == {run.run_id: Refusal.SKIPPED}
    after = play.seen(run)
    assert after.state is RunState.SKIPPED
    assert after.end_time is not None
    assert after.start_time is None
    return after.reason


def test_a_fire_of_a_paused_job_is_skipped(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.pause(TENANT, run.job_id)
    assert refused(play, run) is SkipReason.PAUSED


def test_a_fire_of_a_job_that_was_resumed_in_time_runs(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.pause(TENANT, run.job_id)
    play.ledger.resume(TENANT, run.job_id)
    assert starts(play, run)


def test_what_a_person_asks_for_runs_though_the_job_is_paused(play: Play) -> None:
    run = play.due_hourly()
    play.ledger.pause(TENANT, run.job_id)
    assert starts(play, play.again(run))


def test_a_run_after_its_jobs_expiry_is_skipped(play: Play) -> None:
    assert refused(play, play.due(expires_at=play.at(-0.1))) is SkipReason.EXPIRED


def test_a_run_before_its_jobs_expiry_runs(play: Play) -> None:
    assert starts(play, play.due(expires_at=play.at(60)))


def test_a_run_after_its_start_deadline_is_skipped(play: Play) -> None:
    late = play.submitted(one_off(play.at(-20), start_deadline_seconds=10))
    in_time = play.submitted(one_off(play.at(-20), start_deadline_seconds=300))
    assert refused(play, late) is SkipReason.EXPIRED
    assert starts(play, in_time)


def test_expiry_holds_for_runs_beside_the_schedule_too(play: Play) -> None:
    run = play.due(expires_at=play.at(-0.1))
    assert refused(play, play.again(run)) is SkipReason.EXPIRED


def test_a_retry_is_not_stopped_by_expiry_or_pause(play: Play) -> None:
    """One that has started is finished, whatever the clock says."""
    run = play.due_hourly(expires_at=play.at(3600), start_deadline_seconds=5)
    play.end(play.start(run), Verdict.FAILED)
    play.ledger.pause(TENANT, run.job_id)
    assert play.start(run).attempt == 2


def late_by_hours(play: Play, hours: float, policy: CatchUpPolicy) -> Submission:
    return hourly(play.at(-3600 * hours), timing={"catch_up": policy})


CATCH_UP: dict[str, tuple[float, dict[str, Any], bool]] = {
    "a late fire, and none are caught up": (0.1, {"policy": CatchUp.NONE}, False),
    "a fire that is hardly late": (0.001, {"policy": CatchUp.NONE}, True),
    "the latest of the late": (0.5, {"policy": CatchUp.LATEST}, True),
    "not the latest of the late": (
        1.5,
        {"policy": CatchUp.LATEST, "window_seconds": 86_400},
        False,
    ),
    "all of the late": (5.5, {"policy": CatchUp.ALL, "window_seconds": 86_400}, True),
    "more than the limit": (
        5.5,
        {"policy": CatchUp.ALL, "window_seconds": 86_400, "limit": 3},
        False,
    ),
    "outside of the window": (1.5, {"policy": CatchUp.ALL, "window_seconds": 3600}, False),
}


@pytest.mark.parametrize("case", CATCH_UP)
def test_catch_up_decides_about_late_fires(play: Play, case: str) -> None:
    hours, policy, runs = CATCH_UP[case]
    run = play.submitted(late_by_hours(play, hours, CatchUpPolicy(**policy)))
    if runs:
        assert starts(play, run)
    else:
        assert refused(play, run) is SkipReason.MISSED_WINDOW


def held_back(play: Play, due_ago: float, policy: CatchUp) -> Run:
    """Its fire is long past, a later one too, but jitter made it due only so many seconds ago."""
    job_id = uuid4()
    timing: dict[str, Any] = {"catch_up": CatchUpPolicy(policy), "jitter_seconds": 86_400}
    schedule = hourly(play.at(), timing=timing).job.schedule
    delay = jitter_ms(job_id, schedule) / 1000
    return play.submitted(hourly(play.at(-delay - due_ago), timing=timing, job_id=job_id))


@on_every_version
@pytest.mark.parametrize("policy", CatchUp)
def test_a_fire_that_jitter_holds_back_is_late_by_when_it_was_due(
    play: Play, policy: CatchUp
) -> None:
    assert starts(play, held_back(play, 20, policy))


def test_a_fire_that_jitter_held_back_can_be_late_nevertheless(play: Play) -> None:
    assert refused(play, held_back(play, 70, CatchUp.NONE)) is SkipReason.MISSED_WINDOW
    assert starts(play, held_back(play, 70, CatchUp.LATEST))
    assert refused(play, held_back(play, 3700, CatchUp.LATEST)) is SkipReason.MISSED_WINDOW


def test_a_calendar_decides_which_fire_is_the_latest(play: Play) -> None:
    """Every later fire is excluded, so this one, though hours old, is still the latest."""
    fire = play.at(-5 * 3600)
    quiet = Window(fire + timedelta(seconds=1), fire + timedelta(days=2))
    play.ledger.save_calendar(TENANT, Calendar("quiet", windows=(quiet,)))
    timing = {"catch_up": CatchUpPolicy(CatchUp.LATEST, window_seconds=86_400)}
    excluding = timing | {"calendar": CalendarUse(exclude=("quiet",))}
    assert starts(play, play.submitted(hourly(fire, timing=excluding)))
    assert refused(play, play.submitted(hourly(fire, timing=timing))) is SkipReason.MISSED_WINDOW


def test_a_one_off_is_never_too_late(play: Play) -> None:
    assert starts(play, play.submitted(one_off(play.at(-80_000))))


def test_a_backfill_is_never_too_late(play: Play) -> None:
    run = play.due_hourly(timing={"catch_up": CatchUpPolicy(CatchUp.NONE)})
    assert starts(play, play.again(run, seconds=-5 * 86_400, origin="backfill:1"))


def test_waiting_for_an_upstream_is_not_missing_a_fire(play: Play) -> None:
    upstream = hourly(play.at(-1800))
    job = following(upstream)
    play.submit(upstream, job)
    ended = play.finish(play.only_run(upstream))
    play.ledger.free_dependents([ended.run_id])
    run = play.only_run(job)
    assert run.excused
    assert starts(play, run)


def test_a_lost_run_is_not_judged_again(play: Play) -> None:
    run = play.due_hourly()
    play.start(run)
    play.ledger.requeue_lost(ANY_SILENCE)
    play.ledger.pause(TENANT, run.job_id)
    assert starts(play, run, worker="w2")


def test_a_run_given_back_before_it_began_is_judged_again(play: Play) -> None:
    run = play.due_hourly()
    play.end(play.start(run), Verdict.RELEASED)
    play.ledger.pause(TENANT, run.job_id)
    assert refused(play, run) is SkipReason.PAUSED
