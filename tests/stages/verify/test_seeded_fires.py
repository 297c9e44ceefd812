"""Seeded bugs: fires without runs, runs without fires. Each test is named after its rule."""

from datetime import timedelta
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.ids import run_id
from lamplighter.domain.policy import Upstream
from lamplighter.domain.schedule import Calendar, CalendarUse
from tests.stages.verify.world import CATCH_NONE, DAY, HOUR, MINUTE, NOON, TENANT, World, every

LITTLE = timedelta(seconds=30)


@pytest.fixture
def world() -> World:
    return World()


def test_every_fire_has_a_run_finds_a_dropped_one(world: World) -> None:
    job = world.cron()
    world.pass_minutes(5)
    lost = world.runs(job)[2]

    world.drop(lost)

    report = world.verify()
    assert world.found() == {"every_fire_has_a_run"}
    assert (
        report.findings[0].text
        == "the fire at 2026-03-02T12:02:00.000Z has no run in pool 'default'"
    )


def test_every_fire_has_a_run_finds_the_first_and_a_one_off(world: World) -> None:
    job, once = world.cron(), world.once(NOON + 3 * MINUTE)
    world.pass_minutes(5)

    world.drop(*world.runs(job)[1:2], *world.runs(once))

    assert world.verify().rules[0].found == 2


def test_every_fire_has_a_run_in_each_pool(world: World) -> None:
    job = world.cron(policy=msgspec.structs.replace(world.once().policy, fan_out=("a", "b")))
    world.pass_minutes(3)

    world.drop(next(run for run in world.runs(job) if run.pool == "b" and run.fire_at > NOON))

    assert world.found() == {"every_fire_has_a_run"}


def test_every_fire_has_a_run_counts_by_the_schedule_of_its_time(world: World) -> None:
    job = world.cron()
    world.pass_minutes(4)
    world.sleep(LITTLE)
    world.edit(job, every(120))
    world.pass_minutes(6)
    by_cron, by_interval = world.runs(job)[1], world.runs(job)[6]

    world.drop(by_cron, by_interval)

    texts = {finding.text[12:36] for finding in world.verify().findings}
    assert texts == {
        each.fire_at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        for each in (by_cron, by_interval)
    }


def test_every_fire_has_a_run_while_its_job_is_paused(world: World) -> None:
    job = world.cron()
    world.ledger.pause(TENANT, job.job_id)
    world.pass_minutes(5)

    world.drop(world.runs(job)[3])

    assert world.found() == {"every_fire_has_a_run"}


def test_every_fire_has_a_run_of_a_dependent(world: World) -> None:
    root = world.cron()
    job = world.after(root)
    gate = world.after(world.once())
    world.pass_minutes(5)

    world.drop(world.runs(job)[2], *world.runs(gate))

    assert world.verify().rules[0].found == 2


def test_every_fire_has_a_run_also_where_planning_skipped_ahead(world: World) -> None:
    job = world.cron()
    world.pass_minutes(2)
    books = world.ledger._books
    standing = books.schedules[job.job_id]
    books.schedules[job.job_id] = msgspec.structs.replace(
        standing, next_fire_at=standing.next_fire_at + 3 * MINUTE
    )

    world.pass_minutes(12)

    assert world.verify().rules[0].found == 3


def test_every_fire_has_a_run_by_its_calendar(world: World) -> None:
    world.ledger.save_calendar(TENANT, Calendar("off", dates=((NOON - DAY).date(),)))
    job = world.cron(timing={"calendar": CalendarUse(exclude=("off",))})
    world.pass_minutes(4)

    world.drop(world.runs(job)[2])

    assert world.found() == {"every_fire_has_a_run"}


def test_no_fire_runs_twice(world: World) -> None:
    job = world.cron()
    world.pass_minutes(3)
    run = world.runs(job)[1]

    twin = run_id(uuid4(), run.fire_at, run.pool)
    world.insert(msgspec.structs.replace(run, run_id=twin))

    assert world.found() == {"no_fire_runs_twice", "every_run_has_a_fire"}


def test_no_fire_runs_twice_as_a_run_and_as_a_missed_one(world: World) -> None:
    job = world.cron(timing={"catch_up": CATCH_NONE})
    world.sleep(HOUR)
    world.pass_minutes(2)
    run = world.runs(job)[-1]

    fire = NOON + 20 * MINUTE
    twin = msgspec.structs.replace(
        run, run_id=run_id(job.job_id, fire, run.pool), fire_at=fire, due_at=fire
    )
    world.insert(twin)

    assert world.found() == {"no_fire_runs_twice"}


def test_every_run_has_a_fire(world: World) -> None:
    job, once = world.cron(), world.once()
    world.pass_minutes(3)

    for each in (job, once):
        run = world.runs(each)[0]
        fire = run.fire_at + LITTLE
        moved = msgspec.structs.replace(
            run, run_id=run_id(each.job_id, fire, run.pool), fire_at=fire, due_at=fire,
            start_time=fire, end_time=fire,
        )  # fmt: skip
        world.insert(moved)

    report = world.verify()
    assert world.found() == {"every_run_has_a_fire"}
    assert report.found == 2


def test_every_run_has_a_fire_that_was_not_called_off(world: World) -> None:
    edited, cancelled, follower = world.cron(), world.cron(), world.cron()
    below = world.after(follower)
    world.pass_minutes(3)
    world.sleep(LITTLE)
    left = [run for job in (edited, cancelled, below) for run in world.runs(job)[-2:-1]]
    world.edit(edited, every(3600))
    world.ledger.cancel_job(TENANT, cancelled.job_id)
    world.edit(follower, every(3600))
    assert all(run.fire_at > world.clock() for run in left)

    for run in left:  # as if the change had overlooked them
        world.insert(run)
    world.sleep(4 * MINUTE)

    assert world.verify(grace=DAY).rules[2].found == 3


def test_every_run_has_a_fire_in_a_pool_of_its_job(world: World) -> None:
    job = world.cron()
    world.pass_minutes(3)
    run = world.runs(job)[0]

    world.insert(
        msgspec.structs.replace(run, pool="x", run_id=run_id(job.job_id, run.fire_at, "x"))
    )

    assert world.found() == {"every_run_has_a_fire"}


def test_every_run_has_a_fire_of_a_job_that_exists(world: World) -> None:
    job = world.once()
    world.pass_minutes(1)

    del world.ledger._books.jobs[job.job_id]

    assert world.found() == {"every_run_has_a_fire"}


def test_every_run_has_a_fire_also_a_backfill(world: World) -> None:
    job = world.cron("0 * * * *")
    world.ledger.add_run(TENANT, job.job_id, "backfill:b:at_once=1", NOON - HOUR + MINUTE)
    world.ledger.add_run(TENANT, job.job_id, "chance", NOON)
    world.pass_minutes(1)

    assert world.verify().rules[2].found == 2


def test_every_run_has_a_fire_of_its_upstreams(world: World) -> None:
    root, other = world.cron("*/2 * * * *"), world.cron("1-59/2 * * * *")
    job = world.after(Upstream(str(root.job_id)))
    world.pass_minutes(6)
    run, strange = world.runs(job)[1], world.runs(other)[1].fire_at

    ended = {"end_time": strange + LITTLE, "start_time": strange + LITTLE}
    moved = msgspec.structs.replace(
        run, run_id=run_id(job.job_id, strange, run.pool), fire_at=strange, due_at=strange, **ended
    )
    world.insert(moved)

    assert "every_run_has_a_fire" in world.found()


def test_missed_fires_are_counted(world: World) -> None:
    job = world.cron(timing={"catch_up": CATCH_NONE})
    world.sleep(HOUR)
    world.pass_minutes(2)
    [row] = [run for run in world.runs(job) if run.missed_to is not None]

    world.tamper(row, missed_count=row.missed_count + 1)
    assert world.found() == {"missed_fires_are_counted"}

    assert row.missed_to is not None
    world.tamper(row, missed_count=row.missed_count, missed_to=row.missed_to - LITTLE)
    assert "missed_fires_are_counted" in world.found()


def test_schedules_keep_up_says_when_nobody_plans(world: World) -> None:
    world.cron("* * * * *", timing={"start_at": NOON + MINUTE})
    world.pass_minutes(1)

    world.sleep(11 * MINUTE)

    assert "schedules_keep_up" in world.found()
    assert "every_fire_has_a_run" not in world.found()


def test_schedules_keep_up_says_when_a_schedule_has_lost_its_place(world: World) -> None:
    job = world.cron()
    world.cron(timing={"end_at": NOON + 3 * MINUTE})
    world.pass_minutes(1)

    del world.ledger._books.schedules[job.job_id]

    [finding] = world.verify().findings
    assert (finding.rule, finding.job_id) == ("schedules_keep_up", job.job_id)
