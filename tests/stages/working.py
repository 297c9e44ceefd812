"""A worker over a ledger and a bus in memory that can be taken away, and targets made by hand."""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.contracts.bundles import read_job_events
from lamplighter.contracts.messages import JobEvent, RunMessage
from lamplighter.contracts.topics import DEAD_LETTERS, JOB_EVENTS, all_topics
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ids import run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import ClaimAnswer, Claimed, Submission, Ticket
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.target import PythonSpec
from lamplighter.ports.bus import BusUnavailable, Message, UnknownTopic
from lamplighter.ports.target import Context, Found, TargetResult
from lamplighter.stages.execute import Executor
from lamplighter.stages.report import Reporter
from lamplighter.stages.run import Limits, Runner
from lamplighter.stages.work import Doubts, Work
from tests.stages.test_run import BrokenLogs, NoSecrets

Act = Callable[[Context], Any]


class FragileLedger(MemoryLedger):
    """`away`: it does not answer. `deaf`: it does what it is told, and the answer gets lost."""

    away = False
    deaf = False
    marked: list[UUID]
    claims: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.marked, self.claims = [], []

    def claim(self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]) -> ClaimAnswer:
        self._be_there()
        answer = super().claim(worker_id, claim_id, tickets)
        self.claims.append(len(tickets))
        if self.deaf:
            raise LedgerUnavailable("the answer got lost")
        return answer

    def finish(self, outcomes: Any) -> Any:
        self._be_there()
        return super().finish(outcomes)

    def mark_reported(self, claim_ids: Sequence[UUID]) -> None:
        self._be_there()
        super().mark_reported(claim_ids)
        self.marked += claim_ids

    def heartbeat(self, worker_id: str, pool: str, capacity: int) -> list[UUID]:
        self._be_there()
        return super().heartbeat(worker_id, pool, capacity)

    def _be_there(self) -> None:
        if self.away:
            raise LedgerUnavailable("away")


class FragileBus(MemoryBus):
    """`bare`: it is there, and its topics are not. `buries`: it takes dead letters."""

    away = False
    bare = False
    buries = True

    def publish(self, batch: Sequence[Message]) -> None:
        if self.away:
            raise BusUnavailable("away")
        if not self.buries and any(each.topic == DEAD_LETTERS.name for each in batch):
            raise BusUnavailable("no dead letters now")
        if self.bare:
            raise UnknownTopic("no such topic")
        super().publish(batch)


class ByName:
    """Runs what the test gave for the job's name; what it calls quick needs no place."""

    def __init__(self) -> None:
        self.acts: dict[str, Act] = {}
        self.quick: set[str] = set()

    def find(self, run: Claimed) -> Found:
        return Found(PythonSpec(run.name), self, run.name in self.quick)

    def run(self, spec: PythonSpec, context: Context) -> TargetResult:
        return TargetResult(self.acts[spec.handler](context))

    def is_quick(self, spec: PythonSpec) -> bool:
        return spec.handler in self.quick

    def patience(self, _: PythonSpec) -> float:
        return 0.2


class Workplace:
    def __init__(self, places: int = 4) -> None:
        self.ledger, self.bus = FragileLedger(), FragileBus()
        self.bus.ensure_topics(all_topics(["default", "tasks"]))
        self.events = self.bus.consumer("test", [JOB_EVENTS.name])
        self.targets = ByName()
        self.runner = Runner(self.targets, BrokenLogs(), NoSecrets(), Limits(places=places))
        self.nap: Callable[[float], None] = lambda _: None
        self.now: Callable[[], datetime] = self.ledger.now
        self.doubts = Doubts()
        self.crowd = threading.Semaphore()
        self.executor = Executor(self.runner, self.work)

    def work(self) -> Work:
        reporter = Reporter(self.ledger, self.bus, now=self.ledger.now, sleep=self.nap)
        return Work(
            self.ledger,
            reporter,
            self.runner,
            worker_id="worker",
            now=self.now,
            doubts=self.doubts,
            crowd=self.crowd,
        )

    def does(self, name: str, act: Act, *, quick: bool = False) -> None:
        self.targets.acts[name] = act
        if quick:
            self.targets.quick.add(name)

    def due(self, name: str, count: int = 1, **fields: Any) -> list[RunMessage]:
        """Messages for so many runs of jobs of this name, due now."""
        now = self.ledger.now()
        jobs = [
            Job(job_id=uuid4(), name=name, schedule=Schedule(ScheduleType.IMMEDIATE, now), **fields)
            for _ in range(count)
        ]
        self.ledger.submit([Submission(job, now) for job in jobs])
        return [RunMessage(run_id(job.job_id, now, job.pool), 0, 5, job.pool) for job in jobs]

    def told(self) -> list[JobEvent]:
        records = self.events.poll(10_000, 0.0)
        self.events.commit(records)
        return [event for _, event in read_job_events(records).good]
