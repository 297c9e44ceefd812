"""Reads, and what one tenant can see or do of another's: nothing."""

from uuid import uuid4

import pytest

from lamplighter.domain.errors import JobNotFound, RunNotFound
from lamplighter.domain.ids import run_id
from lamplighter.domain.run import Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import HOUR, OTHER_TENANT, TENANT, hourly, one_off
from tests.adapters.ledger.play import Play


def test_the_clock_goes_forward(ledger: Ledger) -> None:
    first, second = ledger.now(), ledger.now()
    assert first <= second
    assert first.utcoffset() is not None


def test_what_is_unknown_is_not_found(play: Play) -> None:
    nowhere = run_id(uuid4(), play.at(), "default")
    for read in (play.ledger.job, play.ledger.job_versions):
        with pytest.raises(JobNotFound):
            read(TENANT, uuid4())
    with pytest.raises(RunNotFound):
        play.ledger.run(TENANT, nowhere)
    assert play.ledger.runs(TENANT, uuid4()) == []
    assert play.ledger.attempts(TENANT, nowhere) == []


def test_what_is_another_tenants_is_not_found(play: Play) -> None:
    run = play.due()
    play.end(play.start(run), Verdict.FAILED)
    for read in (play.ledger.job, play.ledger.job_versions):
        with pytest.raises(JobNotFound):
            read(OTHER_TENANT, run.job_id)
    with pytest.raises(RunNotFound):
        play.ledger.run(OTHER_TENANT, run.run_id)
    assert play.ledger.runs(OTHER_TENANT, run.job_id) == []
    assert play.ledger.attempts(OTHER_TENANT, run.run_id) == []


def test_runs_come_newest_first_and_not_all_at_once(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    fires = [job.next_fire + n * HOUR for n in range(4)] if job.next_fire else []
    play.ledger.plan(play.lease(), [play.planned(job, fires)])
    found = play.ledger.runs(TENANT, job.job.job_id, limit=3)
    assert [run.fire_at for run in found] == fires[:0:-1]
    assert len(play.ledger.runs(TENANT, job.job.job_id)) == 5


def test_a_run_is_the_same_however_it_is_read(play: Play) -> None:
    run = play.finish(play.due(), result={"a": [1, None]})
    assert play.ledger.run(TENANT, run.run_id) == play.only_run(run.job_id)


def test_runs_are_counted_by_state(play: Play) -> None:
    play.finish(play.due())
    play.start(play.due())
    for _ in range(2):
        play.submit(one_off(play.at(60)))
    counts = {state: play.ledger.count_runs(state) for state in RunState}
    present = {state: count for state, count in counts.items() if count}
    assert present == {RunState.SUCCESS: 1, RunState.RUNNING: 1, RunState.SCHEDULED: 2}


def test_a_job_that_never_changed_has_one_version(play: Play) -> None:
    run = play.due()
    assert play.ledger.job_versions(TENANT, run.job_id) == [play.job(run.job_id)]
