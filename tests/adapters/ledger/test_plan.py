"""Plan: fires become runs, once, by the leader only, and only for what the schedule still is."""

from datetime import timedelta

import pytest

from lamplighter.domain.errors import LeaseLost
from lamplighter.domain.job import Policy
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Ledger, Missed
from tests.adapters.ledger.builders import HOUR, TENANT, edge, following, hourly, one_off
from tests.adapters.ledger.play import A_MINUTE, Play, run_of
from tests.adapters.ledger.stores import on_every_version


def test_due_schedules_come_by_fire_and_not_all_at_once(play: Play) -> None:
    jobs = [hourly(play.at(600 - 60 * n)) for n in range(4)]
    play.submit(*jobs)
    found = play.ledger.due_schedules(play.at(86_400), 2)
    assert [each.job.job_id for each in found] == [jobs[3].job.job_id, jobs[2].job.job_id]
    assert [each.next_fire_at for each in found] == [jobs[3].next_fire, jobs[2].next_fire]
    before_the_last = jobs[0].next_fire
    assert before_the_last is not None
    assert len(play.ledger.due_schedules(before_the_last, 10)) == 3


def test_due_schedules_with_equal_fires_come_by_job(play: Play) -> None:
    fire = play.at(60)
    jobs = [hourly(fire) for _ in range(5)]
    play.submit(*jobs)
    found = play.ledger.due_schedules(play.at(2 * 3600), 10)
    assert [each.job.job_id for each in found] == sorted(each.job.job_id for each in jobs)


@on_every_version
def test_a_planned_fire_is_written_and_the_schedule_moves_on(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    fires = [job.next_fire + n * HOUR for n in range(3)] if job.next_fire else []
    due = play.ledger.plan(play.lease(), [play.planned(job, fires)])
    assert [each.run_id for each in due] == [run_of(job, fire) for fire in fires]
    assert [each.due_at for each in due] == fires
    assert [run.fire_at for run in play.runs(job)] == [*reversed(fires), job.first_fire]
    [standing] = play.ledger.due_schedules(play.at(86_400), 10)
    assert standing.next_fire_at == fires[-1] + HOUR


def test_planning_twice_plans_once(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    assert job.next_fire is not None
    plan = play.planned(job, [job.next_fire])
    lease = play.lease()
    assert len(play.ledger.plan(lease, [plan])) == 1
    assert play.ledger.plan(lease, [plan]) == []
    assert len(play.runs(job)) == 2


def test_a_schedule_that_was_changed_meanwhile_is_left_alone(play: Play) -> None:
    changed, same = hourly(play.at(60)), hourly(play.at(60))
    play.submit(changed, same)
    plans = [play.planned(each, [each.next_fire or play.at()]) for each in (changed, same)]
    play.ledger.pause(TENANT, changed.job.job_id)
    due = play.ledger.plan(play.lease(), plans)
    assert [each.run_id for each in due] == [run_of(same, same.next_fire or play.at())]
    assert len(play.runs(changed)) == 1


def test_a_schedule_that_has_moved_is_left_alone(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    plan = play.planned(job, [play.at(7200)], seen_fire=play.at(7200))
    assert play.ledger.plan(play.lease(), [plan]) == []


def test_a_schedule_of_a_cancelled_job_is_left_alone(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    plan = play.planned(job, [job.next_fire or play.at()])
    play.ledger.cancel_job(TENANT, job.job.job_id)
    assert play.ledger.plan(play.lease(), [plan]) == []
    assert play.runs(job) == []


def test_a_schedule_without_another_fire_leaves(play: Play) -> None:
    far = one_off(play.at(30 * 86_400))
    play.submit(far)
    fire = far.first_fire
    assert fire is not None
    plan = play.planned(far, [fire], seen_fire=fire, next_fire_at=None)
    [due] = play.ledger.plan(play.lease(), [plan])
    assert play.only_run(far).run_id == due.run_id
    assert play.ledger.due_schedules(fire + HOUR, 10) == []


@on_every_version
def test_an_older_epoch_plans_nothing(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    old = play.ledger.acquire_lease("watcher", "old", timedelta(seconds=-1))
    assert old is not None
    new = play.lease("new")
    plan = play.planned(job, [job.next_fire or play.at()])
    with pytest.raises(LeaseLost):
        play.ledger.plan(old, [plan])
    assert len(play.runs(job)) == 1
    assert len(play.ledger.plan(new, [plan])) == 1


def test_a_lease_that_has_run_out_plans_nothing(play: Play) -> None:
    lease = play.ledger.acquire_lease("watcher", "slow", timedelta(seconds=-1))
    assert lease is not None
    with pytest.raises(LeaseLost):
        play.ledger.plan(lease, [])


def test_a_lease_that_was_given_up_plans_nothing(play: Play) -> None:
    lease = play.lease()
    play.ledger.release_lease(lease)
    with pytest.raises(LeaseLost):
        play.ledger.plan(lease, [])


def test_a_fire_that_is_planned_late_wakes_at_once(play: Play) -> None:
    job = hourly(play.at(-3600 - 30))
    play.submit(job)
    [due] = play.ledger.plan(play.lease(), [play.planned(job, [job.next_fire or play.at()])])
    woken = play.seen(due.run_id).wake_at
    assert woken is not None
    assert woken <= play.ledger.now()


@on_every_version
def test_missed_fires_are_one_row(play: Play) -> None:
    job = hourly(play.at(-20 * 3600), policy=Policy(fan_out=("eu", "us")))
    play.submit(job)
    first = job.next_fire
    assert first is not None
    missed = Missed(first, first + 9 * HOUR, 10, SkipReason.MISSED_WINDOW)
    plan = play.planned(job, [first + 10 * HOUR], missed=(missed,))
    due = play.ledger.plan(play.lease(), [plan])
    assert {each.due_at for each in due} == {first + 10 * HOUR}
    for pool in ("eu", "us"):
        row = play.seen(run_of(job, first, pool))
        assert (row.state, row.reason) == (RunState.SKIPPED, SkipReason.MISSED_WINDOW)
        assert (row.missed_to, row.missed_count) == (first + 9 * HOUR, 10)
        assert row.end_time is not None
    assert len(play.runs(job)) == 6


def test_missed_fires_far_back_have_a_day_to_be_written_to(play: Play) -> None:
    job = hourly(play.at(60))
    play.submit(job)
    old = play.at(-40 * 86_400)
    missed = Missed(old, old + HOUR, 2, SkipReason.MISSED_WINDOW)
    plan = play.planned(job, [job.next_fire or old], missed=(missed,))
    play.ledger.plan(play.lease(), [plan])
    assert play.seen(run_of(job, old)).missed_count == 2


def test_nobody_waits_for_a_missed_fire(play: Play) -> None:
    job = hourly(play.at(-20 * 3600))
    after = following(job)
    play.submit(job, after)
    first = job.next_fire
    assert first is not None
    missed = Missed(first, first + 9 * HOUR, 10, SkipReason.MISSED_WINDOW)
    plan = play.planned(job, [first + 10 * HOUR], missed=(missed,))
    play.ledger.plan(play.lease(), [plan])
    fires = [run.fire_at for run in play.runs(after)]
    assert fires == [first + 10 * HOUR, job.first_fire]


def test_dependents_near_and_far_are_blocked_in_the_same_call(play: Play) -> None:
    job = hourly(play.at(60))
    near = following(job)
    far = following(near)
    play.submit(job, near, far)
    fire = job.next_fire
    assert fire is not None
    [due] = play.ledger.plan(play.lease(), [play.planned(job, [fire])])
    assert due.run_id == run_of(job, fire)
    for each in (near, far):
        assert play.state(run_of(each, fire)) is RunState.BLOCKED


def test_a_job_with_upstreams_is_blocked_at_its_planned_fire(play: Play) -> None:
    fire = play.at(60)
    upstream = hourly(fire)
    job = hourly(fire, after=(edge(upstream),))
    play.submit(upstream, job)
    plan = play.planned(job, [fire + HOUR])
    assert play.ledger.plan(play.lease(), [plan]) == []
    assert play.state(run_of(job, fire + HOUR)) is RunState.BLOCKED


def test_an_ordered_job_is_planned_into_its_line(play: Play) -> None:
    job = hourly(play.at(-3600 - 1), ordering_key="k")
    play.submit(job)
    later = play.submitted(one_off(play.at(-0.5), ordering_key="k"))
    play.ledger.plan(play.lease(), [play.planned(job, [job.next_fire or play.at()])])
    play.ledger.cancel_runs(TENANT, [play.runs(job)[1].run_id])
    play.claim(later)
    assert play.state(later) is RunState.PARKED


def test_nothing_planned_is_nothing_written(ledger: Ledger) -> None:
    lease = ledger.acquire_lease("watcher", "leader", A_MINUTE)
    assert lease is not None
    assert ledger.plan(lease, []) == []
