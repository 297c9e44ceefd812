"""What travels between the stages: a run that is due, one that is claimed, one that has ended."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final
from uuid import UUID

import msgspec

from lamplighter.domain.ids import BY_SCHEDULE, run_id
from lamplighter.domain.job import Job
from lamplighter.domain.schedule import jitter_ms
from lamplighter.domain.slots import lane_of
from lamplighter.domain.states import RunState, SkipReason


class Due(msgspec.Struct, frozen=True, gc=False):
    """A run on its way into the queue: what the sorted sets and topics need to know of it."""

    run_id: UUID
    tenant: str
    pool: str
    priority: int
    due_at: datetime
    fence: int


class Ticket(msgspec.Struct, frozen=True, gc=False):
    """A message's claim to a run: valid only while nobody has claimed it since."""

    run_id: UUID
    fence: int


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A run that this worker, and nobody else, may execute under `fence`."""

    run_id: UUID
    job_id: UUID
    tenant: str
    pool: str
    fence: int
    attempt: int
    due_at: datetime
    name: str
    priority: int
    timeout_seconds: int | None
    target: dict[str, Any] | None
    payload: Any
    traceparent: str | None = None  # of this attempt, for its target, where it is traced


class Refusal(Enum):
    """Why a claim was not granted. Nothing is lost by it: the ledger knows where the run stands."""

    GONE = "gone"  # no such run: its job was rescheduled or deleted
    TAKEN = "taken"  # claimed by somebody else, or the fence has moved on
    ENDED = "ended"
    EARLY = "early"  # by more than the grace; it goes back to waiting
    PARKED = "parked"  # waits for a slot, and is woken when it gets one
    BLOCKED = "blocked"  # waits for upstreams
    SKIPPED = "skipped"  # ended just now, with a reason in the ledger
    CANCELLED = "cancelled"  # its job was cancelled; ended just now


class Verdict(Enum):
    """How an attempt ended, in the worker's words."""

    SUCCESS = "success"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    RELEASED = "released"  # never started: the worker gives it back


class Outcome(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    run_id: UUID
    fence: int
    verdict: Verdict
    ended_at: datetime | None = None  # the ledger's now, if the worker does not say
    error: str | None = None
    retryable: bool = True
    result: Any = None
    stdout: str | None = None
    stderr: str | None = None
    log_url: str | None = None


class Recorded(Enum):
    """What became of a reported outcome."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"  # this very outcome was recorded before
    STALE = "stale"  # an older fence, or a run that is gone: it changed nothing


class Run(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The ledger's record of a fire, whole."""

    run_id: UUID
    job_id: UUID
    tenant: str
    pool: str
    origin: str
    state: RunState
    fire_at: datetime
    due_at: datetime
    priority: int
    fence: int
    attempt_number: int
    losses: int
    created_at: datetime
    modified_time: datetime
    start_time: datetime | None = None
    end_time: datetime | None = None
    excused: bool = False  # it waited for an upstream or a slot: being late is not its fault
    wake_at: datetime | None = None
    executor_id: str | None = None
    reason: SkipReason | None = None
    error_message: str | None = None
    missed_to: datetime | None = None
    missed_count: int = 1
    result: Any = None
    stdout: str | None = None
    stderr: str | None = None
    log_url: str | None = None


class Settled(msgspec.Struct, frozen=True, gc=False):
    """The answer to one outcome: was it accepted, and where does the run stand now.

    `run` is the record itself where the ledger had it at hand: always, but for plain successes.
    """

    run_id: UUID
    job_id: UUID | None
    recorded: Recorded
    state: RunState | None
    wake_at: datetime | None = None
    run: Run | None = None


def stands(run: Run, recorded: Recorded) -> Settled:
    return Settled(run.run_id, run.job_id, recorded, run.state, run.wake_at, run)


class ClaimAnswer(msgspec.Struct, frozen=True):
    claimed: list[Claimed]
    refused: dict[UUID, Refusal]
    cancelled: list[UUID]  # runs of this worker that somebody wants stopped
    ended: list[Settled] = []  # by this very claim: skipped, cancelled, replaced


class Attempt(msgspec.Struct, frozen=True):
    """An attempt that did not end in success, and why."""

    run_id: UUID
    attempt_number: int
    fence: int
    verdict: str
    started_at: datetime | None
    ended_at: datetime
    executor_id: str | None
    error_message: str | None


class NewRun(msgspec.Struct, frozen=True, gc=False):
    """A run as it is first written down."""

    run_id: UUID
    job: Job
    pool: str
    fire_at: datetime
    state: RunState
    origin: str
    delay_ms: int

    @property
    def due_at(self) -> datetime:
        delay = self.delay_ms
        return self.fire_at + timedelta(milliseconds=delay) if delay else self.fire_at

    def as_due(self) -> Due:
        job = self.job
        return Due(self.run_id, job.tenant, self.pool, job.priority, self.due_at, fence=0)


def new_runs(
    job: Job, fire: datetime, *, origin: str = BY_SCHEDULE, blocked: bool = False
) -> list[NewRun]:
    """One run per pool for this fire. Only the schedule's fires are delayed by jitter.

    A backfill's wait in their lane from the start: a thousand that came to the workers to be told
    so there would keep everybody else's waiting.
    """
    delay = _delay_ms(job) if origin == BY_SCHEDULE else 0
    state = RunState.PARKED if lane_of(job, origin) is not None else RunState.SCHEDULED
    state = RunState.BLOCKED if blocked else state
    return [
        NewRun(run_id(job.job_id, fire, pool, origin), job, pool, fire, state, origin, delay)
        for pool in job.pools
    ]


def delay_of(job: Job) -> timedelta:
    """By how much jitter makes its runs due later than they fire."""
    return timedelta(milliseconds=_delay_ms(job))


def _delay_ms(job: Job) -> int:
    return jitter_ms(job.job_id, job.schedule) if job.schedule.jitter_seconds > 0 else 0


class Submission(msgspec.Struct, frozen=True, gc=False):
    """A job with its first fires: `first_fire` goes into the ledger, `next_fire` is planned later.

    A job that waits for others (`after`, no schedule of its own) has neither.
    """

    job: Job
    first_fire: datetime | None = None
    next_fire: datetime | None = None
    fingerprint: bytes | None = None  # of the request body, where an Idempotency-Key was given


# Of what was there already, how far from now its runs may lie for the queue to be told once more.
TELL_AGAIN: Final = timedelta(minutes=5)


class Accepted(msgspec.Struct, frozen=True):
    """`runs` wait for nothing but their time, and the queue is to be told of them.

    Those of jobs that are new, and the near ones of jobs that were there already: whoever submitted
    these may have died in between.
    """

    created: frozenset[UUID]  # the others were there already, with the same body
    runs: list[Due]
    first: Sequence[NewRun] = ()  # those of new jobs that have waited for no upstream
    judged: Sequence[Settled] = ()  # runs of new jobs that have, and are freed or skipped already
