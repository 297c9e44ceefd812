"""What the functions say to each other: small JSON documents, read and written in one place."""

from datetime import datetime
from enum import Enum
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.domain.job import Job
from lamplighter.domain.run import Claimed, Due, NewRun, Outcome, Run, Ticket, Verdict
from lamplighter.domain.states import RunState
from lamplighter.ports.queue import Ready


class RunMessage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """On `job-runs.*`: go and claim this. Target and payload come with the claim, not before."""

    run_id: UUID
    fence: int
    priority: int
    pool: str

    def ticket(self) -> Ticket:
        return Ticket(self.run_id, self.fence)


class JobEventType(Enum):
    SUBMITTED = "job.submitted"
    SCHEDULED = "job.scheduled"
    RUNNING = "job.running"
    COMPLETED = "job.completed"
    FAILED = "job.failed"
    RETRYING = "job.retrying"
    CANCELLED = "job.cancelled"
    SKIPPED = "job.skipped"


class JobEvent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """On `job-events`, in bundles: what happened to a run.

    One with an `outcome` asks to be recorded. Without, it is news: the ledger has it already, and
    `status` is the ledger's word.
    """

    event_type: JobEventType
    job_id: UUID
    tenant: str
    at: datetime
    run_id: UUID | None = None
    fence: int | None = None
    attempt: int | None = None
    worker_id: str | None = None
    pool: str | None = None
    priority: int | None = None
    due_at: datetime | None = None
    started_at: datetime | None = None
    outcome: Outcome | None = None
    status: str | None = None
    reason: str | None = None  # why it was skipped
    error: str | None = None
    wake_at: datetime | None = None  # when it is tried again

    @property
    def state(self) -> RunState | None:
        return None if self.status is None else RunState.__members__.get(self.status)


class DependencyEvent(msgspec.Struct, frozen=True, gc=False):
    """On `dependency-events`: this run has ended; whoever waits for it may be free."""

    job_id: UUID
    run_id: UUID


class WorkerEventType(Enum):
    REGISTERED = "worker.registered"
    LOST = "worker.lost"
    STOPPED = "worker.stopped"


class WorkerEvent(msgspec.Struct, frozen=True):
    """On `worker-events`."""

    event_type: WorkerEventType
    worker_id: str
    pool: str
    at: datetime
    capacity: int = 0


_ENCODER: Final = msgspec.json.Encoder()
_RUN: Final = msgspec.json.Decoder(RunMessage)
_DEPENDENCY: Final = msgspec.json.Decoder(DependencyEvent)
_WORKER: Final = msgspec.json.Decoder(WorkerEvent)

_TOLD_AS: Final = {
    Verdict.SUCCESS: JobEventType.COMPLETED,
    Verdict.FAILED: JobEventType.FAILED,
    Verdict.TIMED_OUT: JobEventType.FAILED,
    Verdict.CANCELLED: JobEventType.CANCELLED,
    Verdict.RELEASED: JobEventType.SCHEDULED,
}
# Other states are nobody's news: their runs go on in a moment, or wait where they are.
_NEWS: Final = {
    RunState.SCHEDULED: JobEventType.SCHEDULED,
    RunState.RETRYING: JobEventType.RETRYING,
    RunState.SUCCESS: JobEventType.COMPLETED,
    RunState.FAILED: JobEventType.FAILED,
    RunState.TIMED_OUT: JobEventType.FAILED,
    RunState.CANCELLED: JobEventType.CANCELLED,
    RunState.SKIPPED: JobEventType.SKIPPED,
}


def encode(message: msgspec.Struct) -> bytes:
    return _ENCODER.encode(message)


def run_message(run: Ready) -> bytes:
    return encode(RunMessage(run.run_id, run.fence, run.priority, run.pool))


def read_run(value: bytes) -> RunMessage:
    """Raises msgspec.ValidationError or msgspec.DecodeError for what is not one."""
    return _RUN.decode(value)


def read_dependency(value: bytes) -> DependencyEvent:
    return _DEPENDENCY.decode(value)


def read_worker(value: bytes) -> WorkerEvent:
    return _WORKER.decode(value)


def running(claimed: Claimed, worker_id: str, at: datetime) -> JobEvent:
    return JobEvent(
        event_type=JobEventType.RUNNING,
        job_id=claimed.job_id,
        tenant=claimed.tenant,
        at=at,
        run_id=claimed.run_id,
        fence=claimed.fence,
        attempt=claimed.attempt,
        worker_id=worker_id,
        pool=claimed.pool,
        priority=claimed.priority,
        due_at=claimed.due_at,
        started_at=at,
    )


def ended(started: JobEvent, outcome: Outcome, at: datetime) -> JobEvent:
    """The worker's report of what `running` announced. What it means is the recorder's to say."""
    told_as = _TOLD_AS[outcome.verdict]
    return msgspec.structs.replace(started, event_type=told_as, outcome=outcome, at=at)


def stood(run: Run) -> JobEvent | None:
    """The news of where a run stands, in the ledger's words and by its clock; None: no news."""
    told_as = _NEWS.get(run.state)
    if told_as is None:
        return None
    return JobEvent(
        event_type=told_as,
        job_id=run.job_id,
        tenant=run.tenant,
        at=run.end_time or run.modified_time,
        run_id=run.run_id,
        fence=run.fence,
        attempt=run.attempt_number,
        worker_id=run.executor_id,
        pool=run.pool,
        priority=run.priority,
        due_at=run.due_at,
        started_at=run.start_time,
        status=run.state.name,
        reason=None if run.reason is None else run.reason.name.lower(),
        error=run.error_message,
        wake_at=run.wake_at,
    )


def submitted(job: Job, first_fire: datetime | None, at: datetime) -> JobEvent:
    """A job was accepted. `due_at` is its first fire, where it has one already."""
    return JobEvent(
        event_type=JobEventType.SUBMITTED,
        job_id=job.job_id,
        tenant=job.tenant,
        at=at,
        pool=job.pool,
        priority=job.priority,
        due_at=first_fire,
    )


def added(job_id: UUID, run: Due, at: datetime) -> JobEvent:
    """A run was written down because somebody asked for it, or for another time."""
    return JobEvent(
        event_type=JobEventType.SCHEDULED,
        job_id=job_id,
        tenant=run.tenant,
        at=at,
        run_id=run.run_id,
        fence=run.fence,
        pool=run.pool,
        priority=run.priority,
        due_at=run.due_at,
        status=RunState.SCHEDULED.name,
    )


def scheduled(run: NewRun, at: datetime, *, is_kept: bool = True) -> JobEvent:
    """A run was written down, for a fire to come. `is_kept`: as the job's status, in the cache."""
    return JobEvent(
        event_type=JobEventType.SCHEDULED,
        job_id=run.job.job_id,
        tenant=run.job.tenant,
        at=at,
        run_id=run.run_id,
        fence=0,
        pool=run.pool,
        priority=run.job.priority,
        due_at=run.due_at,
        status=run.state.name if is_kept else None,
    )
