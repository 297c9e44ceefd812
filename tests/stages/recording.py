"""A recorder over stores in memory, and workers that report to it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from lamplighter.adapters.memory.bus import MemoryBus
from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.contracts.bundles import read_job_events
from lamplighter.contracts.messages import (
    JobEvent,
    JobEventType,
    ended,
    read_dependency,
    running,
)
from lamplighter.contracts.topics import DEPENDENCY_EVENTS, JOB_EVENTS, all_topics
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType, Upstream
from lamplighter.domain.run import Outcome, Run, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule
from lamplighter.ports.alerts import Alert
from lamplighter.ports.bus import BusUnavailable, Consumer, Message, Record
from lamplighter.ports.ledger_queries import Minute
from lamplighter.stages.alert import Alarm
from lamplighter.stages.record import Recorder

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TENANT = "default"


class FragileBus(MemoryBus):
    """Its topics can be taken away."""

    def __init__(self) -> None:
        super().__init__()
        self.away: set[str] = set()

    def publish(self, batch: Sequence[Message]) -> None:
        if any(message.topic in self.away for message in batch):
            raise BusUnavailable("taken away")
        super().publish(batch)


class Woken:
    """Somebody who is alerted."""

    def __init__(self) -> None:
        self.alerts: list[Alert] = []

    def send(self, alert: Alert) -> None:
        self.alerts.append(alert)


class Office:
    def __init__(self) -> None:
        self.clock = WoundClock(NOON)
        self.ledger = MemoryQueryLedger(self.clock, draw=lambda: 0.5)
        self.bus, self.cache, self.woken = FragileBus(), MemoryCache(self.clock), Woken()
        self.bus.ensure_topics(all_topics())
        self._news = self.bus.consumer("reader", [JOB_EVENTS.name])
        self._endings = self.bus.consumer("resolver", [DEPENDENCY_EVENTS.name])
        alarm = Alarm([self.woken], sleep=lambda _: None)
        self.recorder = Recorder(self.ledger, self.bus, self.cache, alarm)

    def submit(self, **fields: Any) -> Job:
        given = {"max_retries": 0, **fields}
        job = Job(
            job_id=uuid4(), name="nightly", schedule=Schedule(ScheduleType.FUTURE, NOON), **given
        )
        self.ledger.submit([Submission(job, NOON)])
        return job

    def after(self, upstream: Job) -> Job:
        edges = (Upstream(str(upstream.job_id)),)
        job = Job(job_id=uuid4(), name="later", schedule=Schedule(ScheduleType.AFTER), after=edges)
        self.ledger.submit([Submission(job)])
        return job

    def run(self, job: Job) -> Run:
        [run] = self.ledger.runs(TENANT, job.job_id)
        return run

    def start(self, job: Job) -> JobEvent:
        """The worker's news that it runs, half a second late."""
        run = self.run(job)
        self.clock.wind(timedelta(seconds=0.5))
        [claimed] = self.ledger.claim("w1", uuid4(), [Ticket(run.run_id, run.fence)]).claimed
        return running(claimed, "w1", self.clock())

    def end(
        self, started: JobEvent, verdict: Verdict = Verdict.SUCCESS, error: str | None = None
    ) -> JobEvent:
        """The worker's report, two seconds later."""
        at = self.clock.wind(timedelta(seconds=2))
        assert started.run_id is not None
        assert started.fence is not None
        outcome = Outcome(
            run_id=started.run_id, fence=started.fence, verdict=verdict, error=error, ended_at=at
        )
        return ended(started, outcome, at)

    def news(self) -> list[JobEvent]:
        return [event for _, event in read_job_events(_all(self._news)).good]

    def told(self) -> list[JobEventType]:
        return [each.event_type for each in self.news()]

    def endings(self) -> list[Any]:
        """The runs whose end dependents were told of."""
        records = _all(self._endings)
        return [read_dependency(each.value).run_id for each in records]

    def minutes(self) -> list[Minute]:
        day = timedelta(days=1)
        return self.ledger.list_minutes(TENANT, NOON - day, NOON + day)


def _all(consumer: Consumer) -> list[Record]:
    records = consumer.poll(1000, 0.05)
    consumer.commit(records)
    return sorted(records, key=lambda record: (record.partition, record.offset))
