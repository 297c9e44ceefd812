"""What people ask the ledger: pages of jobs and runs, who works, how the last minutes went.

Every question names its tenant and reads a bounded number of rows by key. A filter is applied to
what such a scan finds, so a page may be short, or empty, and still not be the last: only a page
without `next` is. Lists carry no documents: ask for one job or run to see payload and output.
"""

from datetime import datetime
from typing import Final, Generic, Protocol, TypeVar
from uuid import UUID

import msgspec

from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import JobClass, ScheduleType
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger

T = TypeVar("T")

# How many rows a filtered page may look at.
SCANNED_AT_MOST: Final = 2_000
LONGEST_PAGE: Final = 500
LAST_ID: Final = UUID(int=2**128 - 1)


class JobFilter(msgspec.Struct, frozen=True):
    status: JobStatus | None = None
    schedule_type: ScheduleType | None = None
    pool: str | None = None
    tag: str | None = None
    name: str | None = None  # part of it, in any case

    @property
    def is_empty(self) -> bool:
        return self == JobFilter()


class RunFilter(msgspec.Struct, frozen=True):
    """`due` tells apart what readers call QUEUED (due) and SCHEDULED (not yet)."""

    job_id: UUID | None = None
    state: RunState | None = None
    due: bool | None = None
    pool: str | None = None
    origin: str | None = None
    since: datetime | None = None  # fires from here on
    until: datetime | None = None  # fires before this

    @property
    def is_empty(self) -> bool:
        """Whether every run in its range of keys passes."""
        return self.state is None and self.due is None and not (self.pool or self.origin)


class Page(msgspec.Struct, Generic[T], frozen=True):
    items: list[T]
    next: UUID | None  # where to go on; None: that was all


class Worker(msgspec.Struct, frozen=True):
    worker_id: str
    pool: str
    capacity: int
    started_at: datetime
    heartbeat_at: datetime


class Crew(msgspec.Struct, frozen=True):
    """The workers of a pool, and how many runs they can do at once."""

    pool: str
    workers: int
    capacity: int


class Minute(msgspec.Struct, frozen=True):
    """One line of the rollups: what ended in a minute, by pool, class and state."""

    minute: datetime
    pool: str
    job_class: JobClass
    state: RunState
    runs: int
    duration_ms: int
    lateness_ms: int
    max_lateness_ms: int


class Listing(Protocol):
    def list_jobs(self, tenant: str, where: JobFilter, before: UUID, limit: int) -> Page[Job]:
        """By id, highest first: for ids made here, the newest."""

    def list_runs(self, tenant: str, where: RunFilter, before: UUID, limit: int) -> Page[Run]:
        """By id, highest first: the latest fire."""

    def list_workers(self, after: str, limit: int) -> list[Worker]:
        """By id, from this one on, without it."""

    def count_workers(self, since: datetime) -> list[Crew]:
        """Those heard of after this, by pool; a pool that has none is left out."""

    def list_minutes(self, tenant: str, since: datetime, until: datetime) -> list[Minute]:
        """The rollups of [since, until), oldest first."""


class QueryLedger(Ledger, Listing, Protocol):
    """The ledger with everything that the HTTP functions ask of it."""
