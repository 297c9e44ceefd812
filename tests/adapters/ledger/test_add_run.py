"""Runs beside the schedule: runNow and backfill."""

from datetime import datetime
from uuid import uuid4

import pytest

from lamplighter.domain.errors import JobEnded, JobNotFound
from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Policy
from lamplighter.domain.run import Due
from lamplighter.domain.states import RunState
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, edge, hourly, one_off
from tests.adapters.ledger.play import Play
from tests.adapters.ledger.stores import on_every_version


@on_every_version
def test_a_run_beside_the_schedule_does_not_shift_it(play: Play) -> None:
    submission = hourly(play.at(60))
    play.submit(submission)
    fire = play.at(-1)
    [due] = play.ledger.add_run(TENANT, submission.job.job_id, "now:1", fire)
    expected = run_id(submission.job.job_id, fire, "default", "now:1")
    assert due == Due(expected, TENANT, "default", 5, fire, 0)
    assert play.seen(due.run_id).origin == "now:1"
    [standing] = play.ledger.due_schedules(play.at(2 * 3600), 10)
    assert standing.next_fire_at == submission.next_fire


def test_the_same_origin_and_fire_is_the_same_run(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    fire = play.at(-1)
    first = play.ledger.add_run(TENANT, run.job_id, "now:1", fire)
    assert play.ledger.add_run(TENANT, run.job_id, "now:1", fire) == first
    other = play.ledger.add_run(TENANT, run.job_id, "now:2", fire)
    assert other != first
    assert len(play.runs(run.job_id)) == 3


def test_a_run_that_has_started_is_not_answered_as_due(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    fire = play.at(-1)
    [due] = play.ledger.add_run(TENANT, run.job_id, "now:1", fire)
    play.start(due.run_id)
    assert play.ledger.add_run(TENANT, run.job_id, "now:1", fire) == []


def test_a_backfill_of_a_past_fire_wakes_at_once(play: Play) -> None:
    run = play.submitted(hourly(play.at(60)))
    past = play.at(-12 * 86_400)
    [due] = play.ledger.add_run(TENANT, run.job_id, "backfill:1", past)
    woken = play.seen(due.run_id).wake_at
    assert woken is not None
    assert woken <= play.ledger.now()


def test_many_past_fires_are_added_together_and_once(play: Play) -> None:
    job = hourly(play.at(60), policy=Policy(fan_out=("eu", "us")))
    play.submit(job)
    fires = [play.at(-seconds) for seconds in (5 * 86_400, 86_401, 86_400, 3600)]

    def add(fires: list[datetime]) -> list[Due]:
        return play.ledger.add_runs(TENANT, job.job.job_id, "backfill:1", fires)

    added = add(fires)
    assert sorted(due.due_at for due in added) == sorted(fires * 2)
    assert all(play.seen(due.run_id).wake_at is not None for due in added)
    play.start(added[0].run_id)
    assert set(add(fires)) == set(added[1:])
    assert add([]) == []


def test_a_run_in_every_pool(play: Play) -> None:
    run = play.submit(one_off(play.at(60), policy=Policy(fan_out=("eu", "us")))).runs[0]
    job_id = play.seen(run.run_id).job_id
    added = play.ledger.add_run(TENANT, job_id, "now:1", play.at(-1))
    assert {due.pool for due in added} == {"eu", "us"}


def test_what_a_person_asks_for_waits_for_no_upstream(play: Play) -> None:
    fire = play.at(60)
    upstream = hourly(fire)
    job = hourly(fire, after=(edge(upstream),))
    play.submit(upstream, job)
    [due] = play.ledger.add_run(TENANT, job.job.job_id, "now:1", play.at(-1))
    assert play.state(due.run_id) is RunState.SCHEDULED


def test_what_a_person_asks_for_knows_no_jitter(play: Play) -> None:
    run = play.submitted(hourly(play.at(60), timing={"jitter_seconds": 3600.0}))
    fire = play.at(-1)
    [due] = play.ledger.add_run(TENANT, run.job_id, "now:1", fire)
    assert due.due_at == fire


def test_nobody_runs_an_unknown_job_or_another_tenants(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    with pytest.raises(JobNotFound):
        play.ledger.add_run(TENANT, uuid4(), "now:1", play.at())
    with pytest.raises(JobNotFound):
        play.ledger.add_run(OTHER_TENANT, run.job_id, "now:1", play.at())


def test_nobody_runs_a_cancelled_job(play: Play) -> None:
    run = play.submitted(one_off(play.at(60)))
    play.ledger.cancel_job(TENANT, run.job_id)
    with pytest.raises(JobEnded):
        play.ledger.add_run(TENANT, run.job_id, "now:1", play.at())
