"""What a person submits: a target, a payload, a schedule, a policy. Kept until it is deleted."""

from datetime import datetime
from enum import IntEnum
from typing import Any
from uuid import UUID

import msgspec

from lamplighter.domain.policy import Backoff, OnAmbiguous, Overlap, TriggerRule, Upstream
from lamplighter.domain.schedule.model import Schedule

DEFAULT_TENANT = "default"
DEFAULT_POOL = "default"
DEFAULT_PRIORITY = 5


class JobStatus(IntEnum):
    """Stored as a small number, shown by its name. Numbers are forever: add, never renumber."""

    SCHEDULED = 1
    PAUSED = 2
    CANCELLED = 3
    REJECTED = 4  # accepted while the ledger was away, refused when it came back


class Policy(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """What only the code reads, never a query: kept as one document, empty for most jobs."""

    backoff: Backoff = Backoff()
    fan_out: tuple[str, ...] = ()
    on_ambiguous: OnAmbiguous = OnAmbiguous.RETRY
    trigger_rule: TriggerRule = TriggerRule.ALL_SUCCESS
    blocked_seconds: int = 86_400
    critical: bool = False
    metadata: dict[str, Any] = {}
    rejection: str | None = None  # of a REJECTED job: why. Nobody submits it


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    job_id: UUID
    name: str
    schedule: Schedule
    tenant: str = DEFAULT_TENANT
    target: dict[str, Any] | None = None
    payload: Any = None
    priority: int = DEFAULT_PRIORITY
    pool: str = DEFAULT_POOL
    max_retries: int = 3
    timeout_seconds: int | None = None
    start_deadline_seconds: int | None = None
    expires_at: datetime | None = None
    overlap: Overlap = Overlap.ALLOW
    ordering_key: str | None = None
    concurrency_key: str | None = None
    max_concurrency: int | None = None
    tags: tuple[str, ...] = ()
    after: tuple[Upstream, ...] = ()
    policy: Policy = Policy()
    # Fires more than once: by its own schedule, or because an upstream does.
    repeats: bool = False
    status: JobStatus = JobStatus.SCHEDULED
    version: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def pools(self) -> tuple[str, ...]:
        """Where each fire runs: one run per pool."""
        return self.policy.fan_out or (self.pool,)


def rejected(job: Job, reason: str) -> Job:
    """The job as it is kept for people to see: it never runs, and nobody waits for anybody."""
    policy = msgspec.structs.replace(job.policy, rejection=reason)
    return msgspec.structs.replace(job, status=JobStatus.REJECTED, policy=policy, after=())


def default_overlap(schedule: Schedule) -> Overlap:
    """A recurring job does not overtake itself unless it says so; a one-off cannot."""
    return Overlap.FORBID if schedule.schedule_type.is_recurring else Overlap.ALLOW
