"""The watcher's loop over a ledger, a queue and a bus in memory: what is due gets on its way."""

import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.schedule import Schedule
from lamplighter.stages.watch import LEASE, LEASE_TTL
from tests.stages.watch_world import Breakable, World, eventually, watching


@pytest.fixture
def world() -> World:
    return World()


def test_what_is_due_is_published_with_what_a_claim_needs(world: World) -> None:
    job = world.submit(0.05)
    with watching(world.watcher()):
        [message] = world.receive(1)

    [run] = world.ledger.runs("default", job.job_id)
    assert message.ticket() == Ticket(run.run_id, 0)
    answer = world.ledger.claim("worker", uuid4(), [message.ticket()])
    assert [claimed.run_id for claimed in answer.claimed] == [run.run_id]


def test_nothing_is_published_before_its_time(world: World) -> None:
    late, soon = world.submit(0.6), world.submit(0.1)
    with watching(world.watcher()):
        first, second = world.receive(2)
        arrived = world.ledger.now()

    [run_late] = world.ledger.runs("default", late.job_id)
    [run_soon] = world.ledger.runs("default", soon.job_id)
    assert [first.run_id, second.run_id] == [run_soon.run_id, run_late.run_id]
    assert arrived >= run_late.due_at


def test_a_full_pool_gets_the_most_urgent_first(world: World) -> None:
    lazy = [world.submit(priority=9) for _ in range(3)]
    urgent = world.submit(priority=1)
    with watching(world.watcher(places=1)):
        [first] = world.receive(1)
        rest = world.receive(3)

    [run] = world.ledger.runs("default", urgent.job_id)
    assert first.run_id == run.run_id
    assert {each.run_id for each in rest} == {
        each.run_id for job in lazy for each in world.ledger.runs("default", job.job_id)
    }


def test_an_emptied_queue_is_filled_again_from_the_ledger(world: World) -> None:
    soon = world.submit(0.1)
    with watching(world.watcher()):
        [first] = world.receive(1)
        waiting = [world.submit(1.0) for _ in range(20)]
        world.queue.empty()
        world.receive_all(waiting)

    assert first.run_id == world.run(soon).run_id


def test_a_watcher_that_stops_hands_on_without_a_gap(world: World) -> None:
    first, second = world.watcher("w1"), world.watcher("w2")
    jobs = [world.submit(n * 0.02) for n in range(50)]
    with watching(second) as later:
        with watching(first) as earlier:
            messages = world.receive(10)
        messages += world.receive(50 - len(messages))

    assert {message.run_id for message in messages} == {
        run.run_id for job in jobs for run in world.ledger.runs("default", job.job_id)
    }
    epochs = earlier[0].led_epochs + later[0].led_epochs
    assert len(set(epochs)) == len(epochs) >= 1


def test_only_one_of_two_watchers_leads(world: World) -> None:
    with watching(world.watcher("w1")) as one, watching(world.watcher("w2")) as other:
        jobs = [world.submit(0.1) for _ in range(100)]
        messages = world.receive(100)

    assert sum(len(report.led_epochs) for report in one + other) >= 1
    assert sorted(message.run_id.int for message in messages) == sorted(
        run.run_id.int for job in jobs for run in world.ledger.runs("default", job.job_id)
    )


def test_where_many_are_due_one_after_the_other_they_go_out_together(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamplighter.stages.lead._MANY", 5)
    counting = Counting(world.bus)
    world.seen_bus = counting
    jobs = [world.submit(0.1) for _ in range(10)]
    jobs += [world.submit(0.1 + n / 500) for n in range(150)]
    with watching(world.watcher(places=1_000)):
        world.receive_all(jobs)

    assert sum(counting.batches) >= 160
    assert len(counting.batches) <= 20


def test_a_leader_tells_the_next_one_how_quick_the_pools_were(world: World) -> None:
    world.queue.keep_paces({"default": 1e6})
    with watching(world.watcher()):
        world.receive_all([world.submit()])

    [(pool, pace)] = world.queue.paces().items()
    assert pool == "default"
    assert 0 < pace < 1e6  # what it was told, as far as it has not seen otherwise since


def test_a_leader_that_dies_is_missed_and_its_work_goes_on(world: World) -> None:
    dead = world.ledger.acquire_lease(LEASE, "dead", LEASE_TTL)
    assert dead is not None
    with watching(world.watcher()) as reports:
        world.receive_all([world.submit()])

    assert reports[0].led_epochs == [dead.epoch + 1]


def test_a_leader_that_was_stopped_for_too_long_changes_nothing(world: World) -> None:
    stalling = Stalling(world.queue)
    with watching(world.watcher("stopped", queue=stalling)) as stopped:
        eventually(lambda: world.ledger.lease(LEASE))
        stalling.stall()
        with watching(world.watcher("fresh")) as fresh:
            first = world.submit()
            world.receive_all([first])
            stalling.go_on()
            eventually(lambda: stalling.is_through)
            second = world.submit()
            messages = world.receive_all([second])

    assert [message.run_id for message in messages] == [world.run(second).run_id]
    assert set(stopped[0].errors) & {"StaleEpoch", "LeaseLost"}
    assert fresh[0].published == 2


class Counting(Breakable):
    """Notes how many messages each publication has."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self._bus = inner
        self.batches: list[int] = []

    def publish(self, messages: Any) -> None:
        self.batches.append(len(messages))
        self._bus.publish(messages)


class Stalling(Breakable):
    """Stops in the middle of a tick, as a process does that is frozen."""

    def __init__(self, inner: object) -> None:
        super().__init__(inner)
        self._may_go = threading.Event()
        self._may_go.set()
        self.is_through = False

    def stall(self) -> None:
        self._may_go.clear()

    def go_on(self) -> None:
        self._may_go.set()

    def tick(self, *given: Any) -> Any:
        was_stopped = not self._may_go.is_set()
        self._may_go.wait(20)
        try:
            return self.inner.tick(*given)  # type: ignore[attr-defined]
        finally:
            self.is_through = self.is_through or was_stopped


def test_a_schedule_that_was_just_submitted_does_not_wait_for_the_next_planning(
    world: World,
) -> None:
    with watching(world.watcher()):
        planned(world, twice_a_minute(world))
        planned(world, twice_a_minute(world))


def planned(world: World, job: Job) -> None:
    # Planning comes by itself every 20 s.
    eventually(lambda: len(world.ledger.runs("default", job.job_id)) > 2, within=15.0)


def twice_a_minute(world: World) -> Job:
    """Its first fire is in the ledger; the others are known to planning alone."""
    first, often = world.ledger.now(), timedelta(seconds=30)
    schedule = Schedule(ScheduleType.INTERVAL, interval_seconds=30, start_at=first)
    job = Job(job_id=uuid4(), name="often", schedule=schedule)
    world.ledger.submit([Submission(job, first, first + often)])
    return job


def test_what_a_watcher_did_is_told_in_json(world: World) -> None:
    with watching(world.watcher()) as reports:
        world.receive_all([world.submit()])

    told = msgspec.json.decode(msgspec.json.encode(reports[0]))
    assert (told["holder"], told["led_epochs"], told["published"]) == ("w1", [1], 1)
    assert told["seconds_led"] > 0
    assert told["errors"] == {}


def test_a_long_load_keeps_the_lease_and_the_due_runs_going(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page, each of them slow: together they last longer than a lease."""
    monkeypatch.setattr("lamplighter.stages.load._PAGE", 1)
    later = [world.submit(60 + n) for n in range(8)]
    page = world.ledger.page

    def slowly(*given: Any) -> Any:
        world.ahead += timedelta(seconds=0.3)
        return page(*given)

    monkeypatch.setattr(world.ledger, "page", slowly)
    with watching(world.watcher(steady=world.steady)) as reports:
        world.receive_all([world.submit()])
        runs = {world.run(job).run_id for job in later}
        eventually(lambda: world.queue.holds(runs) == runs)

    assert reports[0].led_epochs == [1]
    assert reports[0].errors == {}
