"""The sweep, and what is done beside the leader's loop."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from lamplighter.contracts.bundles import read_job_events
from lamplighter.contracts.messages import (
    JobEventType,
    WorkerEventType,
    read_worker,
)
from lamplighter.contracts.topics import JOB_EVENTS, WORKER_EVENTS
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import EdgeRule, Upstream
from lamplighter.domain.run import Ticket
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import BusUnavailable
from lamplighter.stages.sweep import SILENCE, Continuity, strike_off
from lamplighter.stages.watch import LEASE, LEASE_TTL, Rhythm
from tests.stages.watch_world import World, eventually, watching

AT_ALL_TIMES = Rhythm(sweep=0.02, settle=0.02, follow_up=0.02, health=0.02)
LONG = timedelta(minutes=1)


@pytest.fixture
def world() -> World:
    return World()


def was_led(world: World) -> None:
    lease = world.ledger.acquire_lease(LEASE, "before", LEASE_TTL)
    assert lease is not None
    world.ledger.release_lease(lease)


def test_silence_counts_from_when_the_ledger_was_back() -> None:
    now = 0.0
    continuity = Continuity(lambda: now)
    assert continuity.lasts(SILENCE)
    continuity.broke()
    now = 1000.0
    assert not continuity.lasts(SILENCE)
    continuity.answered()
    assert not continuity.lasts(SILENCE)
    now += SILENCE.total_seconds()
    continuity.answered()
    assert continuity.lasts(SILENCE)


def test_a_silent_worker_is_struck_off_and_told_of(world: World) -> None:
    news = world.bus.consumer("test", [WORKER_EVENTS.name])
    world.ledger.heartbeat("silent", "tasks", 1)
    world.ahead += LONG
    world.ledger.heartbeat("lively", "tasks", 1)
    assert strike_off(world.ledger, world.bus) == 1

    [record] = news.poll(10, 1.0)
    event = read_worker(record.value)
    assert (event.event_type, event.worker_id, event.pool) == (
        WorkerEventType.LOST,
        "silent",
        "tasks",
    )
    assert strike_off(world.ledger, world.bus) == 0


def test_the_leader_finds_silent_workers(world: World) -> None:
    world.ledger.heartbeat("silent", "default", 1)
    world.ahead += LONG
    was_led(world)
    with watching(world.watcher(rhythm=AT_ALL_TIMES)) as reports:
        eventually(lambda: world.seen_ledger.calls["forget_workers"] > 1)

    assert reports[0].lost_workers == 1


def test_a_run_that_its_losses_ended_is_told_of(world: World) -> None:
    news = world.bus.consumer("test", [JOB_EVENTS.name])
    job = world.submit(-1)
    for _ in range(4):
        run = world.run(job)
        world.ledger.claim("worker", uuid4(), [Ticket(run.run_id, run.fence)])
        world.ledger.requeue_lost(-LONG)
    run = world.run(job)
    world.ledger.claim("worker", uuid4(), [Ticket(run.run_id, run.fence)])
    world.ahead += LONG
    was_led(world)
    with watching(world.watcher(rhythm=AT_ALL_TIMES)):
        eventually(lambda: world.run(job).state is RunState.FAILED)
        records = news.poll(10, 10.0)

    [(_, event)] = read_job_events(records).good
    assert (event.event_type, event.run_id) == (JobEventType.FAILED, run.run_id)


def test_a_blocked_run_ends_as_soon_as_it_has_waited_too_long(world: World) -> None:
    """It is on the agenda: nobody waits for the next sweep."""
    seldom = Rhythm(settle=3600.0)
    upstream = world.submit(3600)
    with watching(world.watcher(rhythm=seldom)) as reports:
        world.receive_all([world.submit()])
        edge = Upstream(str(upstream.job_id), EdgeRule.LATEST_SUCCESS)
        blocked = world.submit(after=(edge,), policy=Policy(blocked_seconds=1))
        eventually(lambda: world.run(blocked).state is RunState.SKIPPED)

    assert reports[0].overdue == 1


def test_what_goes_wrong_in_housekeeping_stops_neither_it_nor_the_leader(world: World) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    world.ledger.settle_overdue = fail  # type: ignore[method-assign,assignment]
    with watching(world.watcher(rhythm=AT_ALL_TIMES)) as reports:
        world.receive_all([world.submit()])
        eventually(lambda: world.seen_ledger.calls["settle_overdue"] > 2)
        world.receive_all([world.submit()])

    assert reports[0].errors["ZeroDivisionError"] > 2
    assert reports[0].led_epochs == [1]


def test_news_of_a_silent_worker_that_the_bus_does_not_take_are_lost(world: World) -> None:
    world.ledger.heartbeat("silent", "default", 1)
    world.ahead += LONG
    away: Any = world.seen_bus
    with world.seen_bus.away(BusUnavailable("away")), pytest.raises(BusUnavailable):
        strike_off(world.ledger, away)
    assert strike_off(world.ledger, world.bus) == 0
