"""The watcher's loop over a ledger, a queue and a bus in memory: what is due gets on its way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from uuid import uuid4

import pytest

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.contracts.messages import RunMessage, read_run
from lamplighter.contracts.topics import all_topics, job_runs_topics
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.bus import Consumer
from lamplighter.ports.queue import QueueEmptied
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.watch import Report, Watcher

PATIENCE = 20.0


class World:
    def __init__(self) -> None:
        self.ledger, self.queue, self.bus = MemoryLedger(), MemoryQueue(), MemoryBus()
        self.bus.ensure_topics(all_topics())
        names = [topic.name for topic in job_runs_topics("default")]
        self.consumer: Consumer = self.bus.consumer(executor_group("default"), names)

    def watcher(self, holder: str = "w1", places: int = 100) -> Watcher:
        window = Window(self.bus, {"default": places}, every_seconds=0.0)
        return Watcher(self.ledger, self.queue, self.bus, holder=holder, window=window)

    def submit(self, seconds: float = 0.0, **fields: int) -> Job:
        fire = self.ledger.now() + timedelta(seconds=seconds)
        schedule = Schedule(ScheduleType.FUTURE, fire)
        job = Job(job_id=uuid4(), name="a job", schedule=schedule, **fields)  # type: ignore[arg-type]
        accepted = self.ledger.submit([Submission(job, fire)])
        with suppress(QueueEmptied):  # no leader yet: it will load the run
            self.queue.add(accepted.runs)
        return job

    def receive(self, count: int) -> list[RunMessage]:
        """Messages as an executor gets them, in the order of arrival; bounded."""
        messages: list[RunMessage] = []
        for _ in range(200):
            records = self.consumer.poll(1000, PATIENCE / 200)
            messages += [read_run(record.value) for record in records]
            self.consumer.commit(records)
            if len(messages) >= count:
                return messages
        raise AssertionError(f"{len(messages)} of {count} messages came")


@pytest.fixture
def world() -> World:
    return World()


@contextmanager
def watching(watcher: Watcher) -> Iterator[list[Report]]:
    reports: list[Report] = []
    thread = threading.Thread(target=lambda: reports.append(watcher.watch(60.0)))
    thread.start()
    try:
        yield reports
    finally:
        watcher.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()


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
        rest = world.receive(20)

    runs = {run.run_id for job in waiting for run in world.ledger.runs("default", job.job_id)}
    [run] = world.ledger.runs("default", soon.job_id)
    assert first.run_id == run.run_id
    assert {message.run_id for message in rest} >= runs


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
