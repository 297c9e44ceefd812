"""When a part is away: what is due goes another way or waits, and goes on by itself afterwards."""

from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import pytest

from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.retry import MAX_LOSSES
from lamplighter.domain.run import Outcome, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.states import RunState
from lamplighter.ports.bus import Bus, BusUnavailable, UnknownTopic
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.alert import Alarm
from lamplighter.stages.record import Recorder
from lamplighter.stages.watch import LEASE, LEASE_TTL, Rhythm
from tests.stages.recording import Woken
from tests.stages.watch_world import World, eventually, watching

NO_QUEUE = QueueUnavailable("taken away")
NO_BUS = BusUnavailable("taken away")
NO_LEDGER = LedgerUnavailable("taken away")
AT_ALL_TIMES = Rhythm(sweep=0.02, settle=0.02)
PROMISED = 5.0  # seconds, without the queue


@pytest.fixture
def world() -> World:
    return World()


def led(world: World) -> None:
    """Somebody leads."""
    world.receive_all([world.submit()])


# Without the queue.


def test_without_the_queue_what_is_due_goes_straight_to_the_bus(world: World) -> None:
    with watching(world.watcher()) as reports:
        led(world)
        with world.seen_queue.away(NO_QUEUE):
            world.receive_all([world.submit() for _ in range(3)], PROMISED)

    assert reports[0].published_directly >= 3
    assert reports[0].errors["QueueUnavailable"] >= 1
    assert reports[0].led_epochs == [1]


def test_without_the_queue_a_run_still_waits_for_its_time(world: World) -> None:
    with watching(world.watcher()):
        led(world)
        with world.seen_queue.away(NO_QUEUE):
            late = world.submit(0.8)
            world.receive_all([late], PROMISED)
            arrived = world.ledger.now()

    assert arrived >= world.run(late).due_at


def test_without_the_queue_a_run_that_nobody_claims_is_sent_once(world: World) -> None:
    with watching(world.watcher()):
        led(world)
        with world.seen_queue.away(NO_QUEUE):
            first = world.submit()
            messages = world.receive_all([first])
            messages += world.receive_all([world.submit(1.0)])

    assert [message.run_id for message in messages].count(world.run(first).run_id) == 1


def test_without_the_queue_the_most_urgent_goes_first(world: World) -> None:
    with watching(world.watcher(places=1)), world.seen_queue.away(NO_QUEUE):
        led(world)
        with world.seen_bus.away(NO_BUS):
            lazy = [world.submit(priority=9) for _ in range(2)]
            urgent = world.submit(priority=1)
        messages = world.receive_all([*lazy, urgent])

    assert messages[0].run_id == world.run(urgent).run_id


def test_without_the_queue_a_retry_comes_when_it_is_due(world: World) -> None:
    with watching(world.watcher()), world.seen_queue.away(NO_QUEUE):
        job = world.submit(max_retries=1)
        [message] = world.receive(1)
        fail(world, message.ticket())
        assert world.run(job).state is RunState.RETRYING
        due_at = world.run(job).wake_at
        [again] = world.receive(1, PROMISED)

    assert due_at is not None
    assert due_at <= world.ledger.now()
    assert (again.run_id, again.fence) == (message.run_id, message.fence + 1)


def test_a_run_whose_hint_was_lost_is_in_the_queue_as_soon_as_that_is_back(world: World) -> None:
    with watching(world.watcher()):
        led(world)
        with world.seen_queue.away(NO_QUEUE):
            eventually(lambda: world.ledger.cursor().loaded_to <= world.ledger.now())
            later = [world.submit(30) for _ in range(3)]
            runs = {world.run(job).run_id for job in later}
            assert world.queue.holds(runs) == set()
        eventually(lambda: world.queue.holds(runs) == runs)


def test_a_new_leader_loads_again_what_the_queue_missed_under_the_old_one(world: World) -> None:
    with watching(world.watcher("w1")):
        led(world)
        world.seen_queue.error = NO_QUEUE
        eventually(lambda: world.ledger.cursor().loaded_to <= world.ledger.now())
        later = world.submit(30)
    world.seen_queue.error = None
    with watching(world.watcher("w2")):
        run = world.run(later).run_id
        eventually(lambda: world.queue.holds([run]) == {run})


# Without the bus.


def test_without_the_bus_what_is_due_waits_and_goes_on_under_the_same_leader(world: World) -> None:
    with watching(world.watcher()) as reports:
        led(world)
        with world.seen_bus.away(NO_BUS):
            jobs = [world.submit() for _ in range(5)]
            eventually(lambda: world.queue.counts().in_flight > 0)
        world.receive_all(jobs, PROMISED)
        eventually(lambda: world.queue.counts().in_flight == 0)

    assert reports[0].led_epochs == [1]
    assert reports[0].errors["BusUnavailable"] >= 1


def test_without_the_bus_planning_and_loading_go_on(world: World) -> None:
    with watching(world.watcher()) as reports:
        led(world)
        with world.seen_bus.away(NO_BUS):
            world.submit()
            eventually(lambda: world.queue.counts().in_flight > 0)
            first = world.ledger.now() + timedelta(seconds=30)
            schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=30, start_at=first)
            job = Job(job_id=uuid4(), name="often", schedule=schedule)
            world.ledger.submit([Submission(job, first, first + timedelta(seconds=30))])
            eventually(lambda: len(world.ledger.runs("default", job.job_id)) > 5)

    assert reports[0].led_epochs == [1]


def test_topics_that_are_missing_at_first_are_used_once_they_are_there(world: World) -> None:
    jobs = [world.submit()]
    with watching(world.watcher()) as reports:
        with world.seen_bus.away(UnknownTopic("no such topic")):
            eventually(lambda: world.seen_bus.calls["lags"] > 1)
        world.receive_all(jobs, PROMISED)

    assert reports[0].led_epochs == [1]


def test_without_queue_and_bus_nothing_is_lost(world: World) -> None:
    with watching(world.watcher()):
        led(world)
        with world.seen_queue.away(NO_QUEUE), world.seen_bus.away(NO_BUS):
            jobs = [world.submit() for _ in range(3)]
            eventually(lambda: world.ledger.cursor().loaded_to <= world.ledger.now())
        world.receive_all(jobs, PROMISED)


def test_without_the_bus_a_worker_lost_for_good_wakes_somebody_all_the_same(world: World) -> None:
    job = _abandoned(world, policy=Policy(critical=True))
    for _ in range(1, MAX_LOSSES):
        world.ledger.requeue_lost(timedelta(seconds=-60))
        run = world.run(job)
        assert world.ledger.claim("worker", uuid4(), [Ticket(run.run_id, run.fence)]).claimed
    world.ahead += timedelta(minutes=1)
    _was_led(world)
    woken, seen_bus = Woken(), cast("Bus", world.seen_bus)
    recorder = Recorder(world.ledger, seen_bus, alarm=Alarm([woken]))

    with (
        world.seen_bus.away(NO_BUS),
        watching(world.watcher(rhythm=AT_ALL_TIMES, recorder=recorder)),
    ):
        eventually(lambda: woken.alerts)

    assert [(each.job_id, each.status) for each in woken.alerts] == [(job.job_id, "FAILED")]


# Without the ledger.


def test_without_the_ledger_a_watcher_waits_and_does_not_spin(world: World) -> None:
    with watching(world.watcher()) as reports:
        led(world)
        with world.seen_ledger.away(NO_LEDGER):
            eventually(lambda: not _is_led(world))
            before = world.seen_ledger.calls.total()
            eventually(lambda: world.seen_ledger.calls["lease"] >= 5)
            asked = world.seen_ledger.calls.total() - before
        world.receive_all([world.submit()], PROMISED)

    assert asked <= 50
    assert reports[0].errors["LedgerUnavailable"] >= 1


def _is_led(world: World) -> bool:
    lease = world.ledger.lease(LEASE)
    return lease is not None and lease.expires_at > world.ledger.now()


def test_an_outage_of_the_ledger_kills_no_worker(world: World) -> None:
    job = _abandoned(world)
    _was_led(world)
    with watching(world.watcher(rhythm=AT_ALL_TIMES)):
        eventually(lambda: world.seen_ledger.calls["requeue_lost"])
        with world.seen_ledger.away(NO_LEDGER):
            eventually(lambda: not _is_led(world))
            world.ahead += timedelta(minutes=1)  # so long was it away, and nobody could say a word
        eventually(lambda: _is_led(world))
        _sweep_some_more(world, but_not="requeue_lost")

    assert world.run(job).state is RunState.RUNNING


def test_where_nobody_has_led_for_a_while_silence_counts_from_now(world: World) -> None:
    job = _abandoned(world)
    lease = world.ledger.acquire_lease(LEASE, "before", LEASE_TTL)
    assert lease is not None
    world.ahead += timedelta(minutes=1)
    with watching(world.watcher(rhythm=AT_ALL_TIMES)):
        _sweep_some_more(world, but_not="requeue_lost")

    assert world.run(job).state is RunState.RUNNING


def test_after_an_ordinary_handing_over_nobody_waits_anew(world: World) -> None:
    job = _abandoned(world)
    world.ahead += timedelta(minutes=1)
    _was_led(world)
    with watching(world.watcher(rhythm=AT_ALL_TIMES)) as reports:
        [message] = world.receive_all([job])

    assert message.fence == 2
    assert reports[0].lost == 1


def _was_led(world: World) -> None:
    """Until this very moment, and so the ledger was there."""
    lease = world.ledger.acquire_lease(LEASE, "before", LEASE_TTL)
    assert lease is not None
    world.ledger.release_lease(lease)


def _abandoned(world: World, **fields: Any) -> Job:
    """A job whose worker has claimed it and is not heard of any more."""
    job = world.submit(-1, **fields)
    world.ledger.claim("worker", uuid4(), [Ticket(world.run(job).run_id, 0)])
    return job


def _sweep_some_more(world: World, but_not: str) -> None:
    """Several rounds of housekeeping, in which this does not happen."""
    before = world.seen_ledger.calls[but_not]
    rounds = world.seen_ledger.calls["settle_overdue"] + 10
    eventually(lambda: world.seen_ledger.calls["settle_overdue"] >= rounds)
    assert world.seen_ledger.calls[but_not] == before


def fail(world: World, ticket: Ticket) -> None:
    [claimed] = world.ledger.claim("worker", uuid4(), [ticket]).claimed
    outcome = Outcome(run_id=claimed.run_id, fence=claimed.fence, verdict=Verdict.FAILED)
    world.ledger.finish([outcome])
