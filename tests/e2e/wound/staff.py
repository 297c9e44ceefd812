"""Executor, worker, recorder and resolver: real ones, called by hand, a turn at a time."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from lamplighter.adapters.logs.folder import FolderLogs
from lamplighter.adapters.targets.python.handlers import Handler, Handlers
from lamplighter.adapters.targets.registry import ECHO, Registry, all_targets
from lamplighter.adapters.targets.secrets import FolderSecrets
from lamplighter.contracts.messages import read_dependency, read_run
from lamplighter.contracts.topics import (
    DEPENDENCY_EVENTS,
    JOB_EVENTS,
    WORKER_EVENTS,
    job_runs_topics,
)
from lamplighter.ports.cache import Cache
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Queue
from lamplighter.ports.target import Context
from lamplighter.stages.capacity import executor_group
from lamplighter.stages.execute import Executor
from lamplighter.stages.record import Recorder
from lamplighter.stages.report import Reporter
from lamplighter.stages.resolve import resolve
from lamplighter.stages.run import Runner
from lamplighter.stages.work import Doubts, Work
from tests.e2e.wound.clock import WoundClock
from tests.e2e.wound.counted import CountedBus, Reader

SLOW: Final = "wound.sleep"
POOLS: Final = ("default", "tasks")
WORKER: Final = "worker"


class Slow(Handlers):
    """And one that takes `{"seconds": …}` of the clock that is wound."""

    def __init__(self, clock: WoundClock) -> None:
        super().__init__()
        self._clock = clock
        self.ends: dict[UUID, datetime] = {}

    def find(self, name: str) -> Handler:
        return Handler(self._sleep) if name == SLOW else super().find(name)

    def _sleep(self, payload: Any, context: Context) -> None:
        end = context.run.due_at + timedelta(seconds=payload["seconds"])
        self.ends[context.run.run_id] = end
        try:
            while self._clock.now() < end:
                context.sleep(0.02)
        finally:
            del self.ends[context.run.run_id]

    def asleep(self) -> list[datetime]:
        """When those that sleep for a while yet will wake."""
        now = self._clock.now()
        return [end for end in list(self.ends.values()) if end > now]


class Staff:
    """`default` is executed batch by batch; what is slow goes to `tasks`, as in a deployment."""

    def __init__(
        self, clock: WoundClock, ledger: Ledger, queue: Queue, bus: CountedBus, cache: Cache
    ) -> None:
        self._ledger, self._queue, self._bus = ledger, queue, bus
        self._runs, self._tasks = (
            Reader(bus, executor_group(pool), [topic.name for topic in job_runs_topics(pool)])
            for pool in POOLS
        )
        self._events = Reader(bus, "recorder", [JOB_EVENTS.name, WORKER_EVENTS.name])
        self._endings = Reader(bus, "resolver", [DEPENDENCY_EVENTS.name])
        self._recorder = Recorder(ledger, bus, cache)
        self._clock, self._slow, self._doubts = clock, Slow(clock), Doubts()

    def hire(self, folder: Path) -> None:
        registry = Registry(all_targets(handlers=self._slow), ECHO)
        logs, secrets = FolderLogs(folder / "logs"), FolderSecrets(folder / "secrets")
        self.runner = Runner(registry, logs, secrets)
        self._executor = Executor(self.runner, self._work)
        self._long = self._work()

    def _work(self) -> Work:
        now = self._clock.now
        reporter = Reporter(self._ledger, self._bus, now=now, recorder=self._recorder)
        return Work(
            self._ledger, reporter, self.runner, worker_id=WORKER, now=now, doubts=self._doubts
        )

    def asleep(self) -> list[datetime]:
        return self._slow.asleep()

    def turn(self) -> bool:
        """One turn of everybody. Whether anything is on its way."""
        self._execute()
        self._attend()
        self._record()
        self._resolve()
        readers = (self._runs, self._tasks, self._events, self._endings)
        return self._is_awake() or any(reader.waiting > 0 for reader in readers)

    def _is_awake(self) -> bool:
        return self._long.open > len(self._slow.asleep())

    def _execute(self) -> None:
        if records := self._runs.poll():
            done = self._executor.execute([read_run(each.value) for each in records])
            assert done.left == []
            self._runs.commit(records)

    def _attend(self) -> None:
        """What `stages/attend.py` does in two threads."""
        if records := self._tasks.poll():
            messages = [read_run(each.value) for each in records]
            self._long.begin(messages, lambda: self._tasks.commit(records))
        # Those whose run is to stop hear of it with their heartbeat.
        if self._slow.ends:
            self.runner.cancel(self._ledger.heartbeat(WORKER, "tasks", 32))
        if self._is_awake():
            self._long.report(0.01)

    def _record(self) -> None:
        if records := self._events.poll():
            assert self._recorder.handle(records) == []
            self._events.commit(records)

    def _resolve(self) -> None:
        if records := self._endings.poll():
            endings = [read_dependency(each.value) for each in records]
            resolve(self._ledger, self._queue, endings, self._bus)
            self._endings.commit(records)

    def close(self) -> None:
        for reader in (self._runs, self._tasks, self._events, self._endings):
            reader.close()
        self.runner.close()
