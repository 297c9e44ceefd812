"""Planning over a wound clock: every fire is in the ledger once, whatever the watcher missed."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.domain.errors import LeaseLost
from lamplighter.domain.job import Job
from lamplighter.domain.policy import CatchUp, CatchUpPolicy, ScheduleType
from lamplighter.domain.run import Run, Submission
from lamplighter.domain.schedule import Calendar, CalendarUse, Schedule, fires_between
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import Lease
from lamplighter.stages.plan import HORIZON, plan

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
TTL = timedelta(days=400)


class World:
    def __init__(self) -> None:
        self.now = NOON
        self.ledger = MemoryLedger(clock=lambda: self.now)
        lease = self.ledger.acquire_lease("watcher", "w1", TTL)
        assert lease is not None
        self.lease: Lease = lease

    def plan(self) -> int:
        return sum(len(page) for page in plan(self.ledger, self.lease, self.now + HORIZON))

    def every(self, seconds: float, **schedule: Any) -> Job:
        timing = Schedule(
            ScheduleType.INTERVAL, interval_seconds=seconds, start_at=NOON, **schedule
        )
        return self.submit(timing, NOON + timedelta(seconds=seconds))

    def submit(self, timing: Schedule, next_fire: datetime) -> Job:
        job = Job(job_id=uuid4(), name="a job", schedule=timing)
        self.ledger.submit([Submission(job, NOON, next_fire)])
        return job

    def runs(self, job: Job) -> list[Run]:
        return sorted(
            self.ledger.runs("default", job.job_id, limit=100_000), key=lambda run: run.run_id
        )

    def settled(self, job: Job) -> list[datetime]:
        """Every fire that the ledger accounts for, those of rows for many among them."""
        found: list[datetime] = []
        for run in self.runs(job):
            last = run.missed_to or run.fire_at
            end = last + timedelta(milliseconds=1)
            found += fires_between(job.schedule, run.fire_at, end)
        return found


@pytest.fixture
def world() -> World:
    return World()


def test_fires_within_the_horizon_are_written_and_no_others(world: World) -> None:
    job = world.every(60)

    world.plan()

    fires = [run.fire_at for run in world.runs(job)]
    assert fires == [NOON + n * timedelta(minutes=1) for n in range(5)]


def test_planning_again_writes_nothing_twice(world: World) -> None:
    job = world.every(60)
    world.plan()

    assert world.plan() == 0
    assert len(world.runs(job)) == 5


def test_a_day_of_turns_leaves_no_gap_and_no_double(world: World) -> None:
    job = world.every(90)
    while world.now < NOON + timedelta(days=1):
        world.plan()
        world.now += timedelta(seconds=20)

    fires = [run.fire_at for run in world.runs(job)]
    assert fires == fires_between(job.schedule, NOON, fires[-1] + timedelta(milliseconds=1))
    assert fires[-1] >= NOON + timedelta(days=1)


@pytest.mark.parametrize("policy", list(CatchUp))
def test_thirty_days_of_outage_are_settled_and_every_fire_is_accounted_for(
    world: World, policy: CatchUp
) -> None:
    job = world.every(3600, catch_up=CatchUpPolicy(policy, window_seconds=7200, limit=10))
    world.now += timedelta(days=30)

    world.plan()

    settled = world.settled(job)
    assert settled == fires_between(job.schedule, NOON, settled[-1] + timedelta(milliseconds=1))
    assert settled[-1] + timedelta(hours=1) >= world.now + HORIZON


@pytest.mark.parametrize(("policy", "late_runs"), [("none", 0), ("latest", 1), ("all", 2)])
def test_catch_up_decides_how_many_late_fires_run(
    world: World, policy: str, late_runs: int
) -> None:
    rule = CatchUpPolicy(CatchUp(policy), window_seconds=7200)
    job = world.every(3600, catch_up=rule)
    world.now += timedelta(days=1, minutes=30)

    world.plan()

    planned = [run for run in world.runs(job) if run.fire_at > NOON]
    assert len([run for run in planned if run.state is RunState.SCHEDULED]) == late_runs
    missed = [run for run in planned if run.state is RunState.SKIPPED]
    assert [run.reason for run in missed] == [SkipReason.MISSED_WINDOW]
    assert sum(run.missed_count for run in missed) == 24 - late_runs


def test_a_schedule_that_ends_leaves_the_line(world: World) -> None:
    job = world.every(60, end_at=NOON + timedelta(minutes=2))

    world.plan()
    world.now += timedelta(hours=1)

    assert len(world.runs(job)) == 3
    assert world.ledger.due_schedules(world.now + timedelta(days=1), 10) == []


def test_a_far_one_off_is_written_when_planning_reaches_it(world: World) -> None:
    fire = NOON + timedelta(days=60)
    job = Job(job_id=uuid4(), name="far", schedule=Schedule(ScheduleType.FUTURE, fire))
    world.ledger.submit([Submission(job, fire)])
    assert world.runs(job) == []

    world.now = fire - timedelta(minutes=1)
    world.plan()

    assert [run.fire_at for run in world.runs(job)] == [fire]


def test_a_calendar_closes_a_day(world: World) -> None:
    closed = Calendar("closed", dates=(NOON.date(),))
    world.ledger.save_calendar("default", closed)
    job = world.every(60, calendar=CalendarUse(exclude=("closed",)))

    world.plan()

    assert [run.fire_at for run in world.runs(job)] == [NOON]  # submitted, not planned


def test_more_schedules_than_a_page_are_all_planned(world: World) -> None:
    jobs = [world.every(60) for _ in range(1_100)]

    assert world.plan() == 1_100 * 4
    assert {len(world.runs(job)) for job in jobs} == {5}


def test_a_leader_of_the_past_plans_nothing(world: World) -> None:
    job = world.every(60)
    world.ledger.release_lease(world.lease)
    world.ledger.acquire_lease("watcher", "w2", TTL)

    with pytest.raises(LeaseLost):
        world.plan()
    assert len(world.runs(job)) == 1


def test_a_day_that_a_calendar_gives_back_is_planned_once(world: World) -> None:
    tomorrow = NOON.date() + timedelta(days=1)
    world.ledger.save_calendar("default", Calendar("closed", dates=(NOON.date(), tomorrow)))
    use = CalendarUse(exclude=("closed",))
    timing = Schedule(ScheduleType.CRON, cron_expression="1 * * * *", calendar=use)
    job = Job(job_id=uuid4(), name="a job", schedule=timing)
    first = datetime(2026, 3, 4, 0, 1, tzinfo=UTC)
    world.ledger.submit([Submission(job, first, first + timedelta(hours=1))])
    assert world.plan() == 0

    world.ledger.save_calendar("default", Calendar("closed", dates=(tomorrow,)))

    assert (world.plan(), world.plan()) == (1, 0)
    assert [run.fire_at for run in world.runs(job)] == [NOON + timedelta(minutes=1), first]
    [standing] = world.ledger.due_schedules(first, 10)
    assert standing.next_fire_at == NOON + timedelta(hours=1, minutes=1)
