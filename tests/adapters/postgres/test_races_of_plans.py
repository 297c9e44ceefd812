"""The planner meets edits of the jobs it plans for, and a leader that came after it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import LeaseLost
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import Due, Submission
from lamplighter.ports.ledger import Lease, Planned
from tests.adapters.postgres.making import (
    HOUR,
    MINUTE,
    after,
    every_minute,
    fresh,
    submit_often,
    utc_now,
)
from tests.adapters.postgres.races import Scene, World

LONG = timedelta(hours=1)


def _lease(world: World) -> Lease:
    lease = world.ledger.acquire_lease(fresh("lease"), "leader", LONG)
    assert lease
    return lease


def _planning(lease: Lease, job: Job, fires: int = 2) -> Callable[[PostgresLedger], Any]:
    """Plan the next fires of a job that was just submitted with its first."""
    first = job.schedule.start_at
    assert first
    coming = tuple(first + n * MINUTE for n in range(1, fires + 1))
    planned = Planned(job, coming[0], job.version, coming, (), coming[-1] + MINUTE)
    return lambda ledger: ledger.plan(lease, [planned])


def _fires(world: World, job: Job) -> list[Any]:
    query = "SELECT run_id FROM job_runs WHERE job_id = %s AND status < 10 ORDER BY run_id"
    return [fire_of(row[0]) for row in world.conn.execute(query, [job.job_id])]


def _next_fire(world: World, job: Job) -> Any:
    query = "SELECT next_fire_at FROM schedules WHERE job_id = %s"
    row = world.conn.execute(query, [job.job_id]).fetchone()
    return row and row[0]


def test_a_plan_that_meets_a_reschedule_leaves_the_new_schedule_alone(world: World) -> None:
    def set_up(world: World) -> Scene:
        now, lease = utc_now(), _lease(world)
        job, _ = submit_often(world.ledger, now + MINUTE, tenant=fresh("t"))
        new = every_minute(now + HOUR, tenant=job.tenant)
        later = Job(
            job_id=job.job_id, name="later", tenant=job.tenant, schedule=new.schedule, repeats=True
        )

        def reschedule(ledger: PostgresLedger) -> Job:
            first = now + HOUR
            return ledger.reschedule(
                later, expected_version=1, first_fire=first, next_fire=first + MINUTE
            )

        def check(planned: list[Due], rescheduled: Job) -> None:
            assert rescheduled.version == 2
            assert _fires(world, job) == [now + HOUR]
            assert _next_fire(world, job) == now + HOUR + MINUTE

        return Scene([_planning(lease, job), reschedule], check)

    world.race(set_up, samples=5)


def test_a_plan_that_meets_a_new_dependent_leaves_it_no_hole(world: World) -> None:
    def set_up(world: World) -> Scene:
        lease = _lease(world)
        job, _ = submit_often(world.ledger, utc_now() + MINUTE, tenant=fresh("t"))
        dependent = after(job, tenant=job.tenant)

        def follow(ledger: PostgresLedger) -> Any:
            return ledger.submit([Submission(dependent)])

        def check(planned: list[Due], submitted: Any) -> None:
            assert submitted.created == {dependent.job_id}
            assert _fires(world, dependent) == _fires(world, job)
            assert len(_fires(world, job)) in {1, 3}  # or it is planned at the next look

        return Scene([_planning(lease, job), follow], check)

    world.race(set_up, samples=8, mirrored=True)


def test_a_plan_that_meets_a_cancelled_job_leaves_no_run_behind(world: World) -> None:
    def set_up(world: World) -> Scene:
        lease = _lease(world)
        job, _ = submit_often(world.ledger, utc_now() + MINUTE, tenant=fresh("t"))

        def cancel(ledger: PostgresLedger) -> Job:
            return ledger.cancel_job(job.tenant, job.job_id)

        def check(planned: list[Due], cancelled: Job) -> None:
            assert cancelled.status is JobStatus.CANCELLED
            assert _fires(world, job) == []
            assert _next_fire(world, job) is None

        return Scene([_planning(lease, job), cancel], check)

    world.race(set_up, samples=5)


def test_a_plan_that_meets_a_pause_is_written_whole_or_not_at_all(world: World) -> None:
    def set_up(world: World) -> Scene:
        lease, first = _lease(world), utc_now() + MINUTE
        job, _ = submit_often(world.ledger, first, tenant=fresh("t"))

        def pause(ledger: PostgresLedger) -> Job:
            return ledger.pause(job.tenant, job.job_id)

        def check(planned: list[Due], paused: Job) -> None:
            moved = len(planned) == 2
            assert len(_fires(world, job)) == (3 if moved else 1)
            assert _next_fire(world, job) == first + (3 if moved else 1) * MINUTE

        return Scene([_planning(lease, job), pause], check)

    world.race(set_up)


def test_an_old_leader_and_a_new_one_plan_the_same_fires_once(world: World) -> None:
    def set_up(world: World) -> Scene:
        name, first = fresh("lease"), utc_now() + MINUTE
        job, _ = submit_often(world.ledger, first, tenant=fresh("t"))
        old = world.ledger.acquire_lease(name, "old", LONG)
        assert old

        def take_over(ledger: PostgresLedger) -> list[Due]:
            ledger.release_lease(old)  # as if its time had run out
            new = ledger.acquire_lease(name, "new", LONG)
            assert new
            assert new.epoch == old.epoch + 1
            planned: list[Due] = _planning(new, job)(ledger)
            return planned

        def check(by_old: list[Due] | LeaseLost, by_new: list[Due]) -> None:
            both = len(by_new) if isinstance(by_old, LeaseLost) else len(by_old) + len(by_new)
            assert both == 2
            assert len(_fires(world, job)) == 3
            assert _next_fire(world, job) == first + 3 * MINUTE

        return Scene([_planning(old, job), take_over], check)

    world.race(set_up, samples=5)


def test_nobody_takes_a_lease_over_while_its_holder_writes(world: World) -> None:
    """Once the old leader has checked its epoch, the new one must wait for it to commit."""

    def set_up(world: World) -> Scene:
        name = fresh("lease")
        job, _ = submit_often(world.ledger, utc_now() + MINUTE, tenant=fresh("t"))
        old = world.ledger.acquire_lease(name, "old", LONG)
        assert old

        def take_over(ledger: PostgresLedger) -> int:
            ledger.release_lease(old)
            assert ledger.acquire_lease(name, "new", LONG)
            return len(_fires(world, job))

        def check(by_old: list[Due] | LeaseLost, seen_by_new: int) -> None:
            assert seen_by_new == (1 if isinstance(by_old, LeaseLost) else 3)

        return Scene([_planning(old, job), take_over], check)

    world.race(set_up)
