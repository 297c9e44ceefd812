"""Upkeep: days are made ready ahead, and retired whole when nothing in them is open."""

import pytest

from lamplighter.domain.errors import JobNotFound, RunNotFound
from lamplighter.domain.run import Verdict
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import TENANT, edge, following, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version

DAY = 86_400


def test_days_that_were_made_ready_take_first_runs(play: Play) -> None:
    fire = play.at(8.5 * DAY)
    play.ledger.ensure_partitions(play.at(), fire)
    play.ledger.ensure_partitions(play.at(), fire)
    assert play.submitted(one_off(fire)).fire_at == fire


@on_every_version
def test_a_day_without_open_runs_is_retired_with_all_it_holds(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    [due] = play.ledger.add_run(TENANT, job.job.job_id, "backfill:1", play.at(-100 * DAY))
    play.finish(due.run_id, Verdict.FAILED)
    gone = play.ledger.drop_partitions(play.at(-99 * DAY))
    assert len(gone) >= 1
    with pytest.raises(RunNotFound):
        play.seen(due.run_id)
    assert play.ledger.attempts(TENANT, due.run_id) == []
    assert play.job(job).repeats
    assert play.ledger.drop_partitions(play.at(-99 * DAY)) == []


def test_a_day_with_an_open_run_stays(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    old = play.at(-100 * DAY)
    [due] = play.ledger.add_run(TENANT, job.job.job_id, "backfill:1", old)
    assert play.ledger.drop_partitions(play.at(-99 * DAY)) == []
    assert play.state(due.run_id) is RunState.SCHEDULED
    play.ledger.cancel_runs(TENANT, [due.run_id])
    assert len(play.ledger.drop_partitions(play.at(-99 * DAY))) == 1


def test_later_days_are_not_touched(play: Play) -> None:
    run = play.finish(play.due())
    play.ledger.drop_partitions(play.at(-50 * DAY))
    assert play.seen(run) == run


def test_a_one_off_job_leaves_with_its_history(play: Play) -> None:
    once = one_off(play.at(-100 * DAY))
    awaited = one_off(play.at(-100 * DAY))
    play.ledger.ensure_partitions(play.at(-100 * DAY), play.at())
    play.submit(once, awaited)
    play.submit(hourly(play.at(60), after=(edge(awaited),)))
    for job in (once, awaited):
        play.ledger.cancel_runs(TENANT, [play.only_run(job).run_id])
    assert len(play.ledger.drop_partitions(play.at(-99 * DAY))) >= 1
    with pytest.raises(JobNotFound):
        play.job(once)
    assert play.job(awaited).job_id == awaited.job.job_id


def test_an_upstream_leaves_with_the_last_job_that_waited_for_it(play: Play) -> None:
    awaited = one_off(play.at(-100 * DAY))
    waiting = following(awaited)
    play.ledger.ensure_partitions(play.at(-100 * DAY), play.at())
    play.submit(awaited, waiting)
    for job in (awaited, waiting):
        play.ledger.cancel_runs(TENANT, [play.only_run(job).run_id])
    [due] = play.ledger.add_run(TENANT, waiting.job.job_id, "now:1", play.at(-98 * DAY))
    play.ledger.cancel_runs(TENANT, [due.run_id])
    play.ledger.drop_partitions(play.at(-99 * DAY))
    assert play.job(awaited).job_id == awaited.job.job_id
    play.ledger.drop_partitions(play.at(-97 * DAY))
    for job in (waiting, awaited):
        with pytest.raises(JobNotFound):
            play.job(job)


@on_every_version
def test_jobs_that_ended_without_history_leave_after_the_retention(play: Play) -> None:
    refused, cancelled = one_off(play.at(60)), hourly(play.at(3600))
    going, awaited = hourly(play.at(3600)), one_off(play.at(3600))
    play.ledger.reject([refused], "no such calendar")
    play.submit(cancelled, going, awaited, following(awaited))
    for job in (cancelled, awaited):
        play.ledger.cancel_job(TENANT, job.job.job_id)

    play.ledger.forget_before(play.at(-60))
    assert play.job(refused).job_id == refused.job.job_id

    play.ledger.forget_before(play.at(60))
    for job in (refused, cancelled):
        with pytest.raises(JobNotFound):
            play.job(job)
    assert play.job(going).repeats
    assert play.job(awaited).job_id == awaited.job.job_id


def test_versions_stay_while_they_may_explain_a_run(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    play.ledger.pause(TENANT, job.job.job_id)
    play.ledger.forget_before(play.at(60))
    assert len(play.ledger.job_versions(TENANT, job.job.job_id)) == 2
