"""A ledger, a queue and a bus in memory that can be taken away, and watchers over them."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.clock import system_clock
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.queue import MemoryQueue
from lamplighter.contracts.messages import RunMessage, read_run
from lamplighter.contracts.topics import all_topics, job_runs_topics
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Run, Submission
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.bus import Consumer
from lamplighter.stages.capacity import Window, executor_group
from lamplighter.stages.record import Recorder
from lamplighter.stages.standing import Gauge
from lamplighter.stages.watch import Report, Rhythm, Watcher

PATIENCE = 20.0


class Breakable:
    """Passes every call on; while `error` is set, raises that instead. Counts either."""

    def __init__(self, inner: object) -> None:
        self.inner = inner
        self.error: Exception | None = None
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        call = getattr(self.inner, name)

        def passed_on(*given: Any, **named: Any) -> Any:
            self.calls[name] += 1
            if self.error is not None:
                raise self.error
            return call(*given, **named)

        return passed_on

    @contextmanager
    def away(self, error: Exception) -> Iterator[None]:
        self.error = error
        try:
            yield
        finally:
            self.error = None


class World:
    """What the watchers see is breakable; the test itself sees the parts as they are."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)
        self.ledger = MemoryLedger(clock=lambda: system_clock() + self.ahead)
        self.queue, self.bus = MemoryQueue(), MemoryBus()
        self.bus.ensure_topics(all_topics())
        names = [topic.name for topic in job_runs_topics("default")]
        self.consumer: Consumer = self.bus.consumer(executor_group("default"), names)
        self.seen_ledger, self.seen_queue = Breakable(self.ledger), Breakable(self.queue)
        self.seen_bus = Breakable(self.bus)

    def watcher(
        self,
        holder: str = "w1",
        places: int = 100,
        *,
        queue: Any = None,
        rhythm: Rhythm | None = None,
        gauge: Gauge | None = None,
        recorder: Recorder | None = None,
        steady: Callable[[], float] = time.monotonic,
    ) -> Watcher:
        bus: Any = self.seen_bus
        ledger: Any = self.seen_ledger
        window = Window(bus, {"default": places}, every_seconds=0.0)
        seen: Any = queue or self.seen_queue
        return Watcher(
            ledger,
            seen,
            bus,
            holder=holder,
            window=window,
            rhythm=rhythm,
            gauge=gauge,
            recorder=recorder,
            steady=steady,
        )

    def steady(self) -> float:
        """Seconds, for a watcher who is to see the time pass that `ahead` skips."""
        return time.monotonic() + self.ahead.total_seconds()

    def submit(self, seconds: float = 0.0, **fields: Any) -> Job:
        """As submit does: the ledger, then the hint, which may fail."""
        fire = self.ledger.now() + timedelta(seconds=seconds)
        schedule = Schedule(ScheduleType.FUTURE, fire)
        job = Job(job_id=uuid4(), name="a job", schedule=schedule, **fields)
        accepted = self.ledger.submit([Submission(job, fire)])
        with suppress(LamplighterError):  # away, or no leader yet: it will find the run
            self.seen_queue.add(accepted.runs)
        return job

    def run(self, job: Job) -> Run:
        [run] = self.ledger.runs(job.tenant, job.job_id)
        return run

    def receive(
        self, count: int, within: float = PATIENCE, *, commit: bool = True
    ) -> list[RunMessage]:
        """Messages as an executor gets them, in the order of arrival; bounded."""
        messages: list[RunMessage] = []
        return self._poll(messages, lambda: len(messages) >= count, within, commit=commit)

    def receive_all(self, jobs: list[Job], within: float = PATIENCE) -> list[RunMessage]:
        """Until each of these has come, at least once."""
        return self.receive_runs({self.run(job).run_id for job in jobs}, within)

    def receive_runs(self, awaited: set[UUID], within: float = PATIENCE) -> list[RunMessage]:
        messages: list[RunMessage] = []
        return self._poll(messages, lambda: awaited <= ids(messages), within)

    def _poll(
        self,
        messages: list[RunMessage],
        is_enough: Callable[[], bool],
        within: float,
        *,
        commit: bool = True,
    ) -> list[RunMessage]:
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            records = self.consumer.poll(1000, 0.05)
            messages += [read_run(record.value) for record in records]
            if commit:
                self.consumer.commit(records)
            if is_enough():
                return messages
        raise AssertionError(f"{len(messages)} messages came, and not all that were awaited")


def ids(messages: list[RunMessage]) -> set[UUID]:
    return {message.run_id for message in messages}


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


def eventually(is_so: Callable[[], object], within: float = PATIENCE) -> None:
    deadline = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < deadline, "it never became so"
        time.sleep(0.01)
