"""Everything that a ledger in memory knows, table by table as PostgreSQL keeps it."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from itertools import count
from typing import TypeAlias
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.journal import Journal, Table
from lamplighter.domain.errors import JobNotFound
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import Calendar
from lamplighter.ports.ledger import Cursor, KeyUse, Lease
from lamplighter.ports.rollups import Rollup

# Who submitted a job id, and the fingerprint of what they sent.
Identity: TypeAlias = tuple[str, bytes | None]
# minute, tenant, pool, class, state
MinuteKey: TypeAlias = tuple[datetime, str, str, int, int]

DAYS_BEHIND = 1
DAYS_AHEAD = 7
LOADING = "loading"
# What is written down later than this after its fire has a wake-up call from the start, so that
# nothing comes in below the watermark unseen.
PASSED_AFTER = timedelta(seconds=5)


class Standing(msgspec.Struct, frozen=True):
    """Where a job's schedule stands. `version` is the job's, so that planning sees any change."""

    next_fire_at: datetime
    version: int


class UsedKey(msgspec.Struct, frozen=True):
    """An Idempotency-Key of a change, by tenant and route."""

    fingerprint: bytes
    use: KeyUse


class Claim(msgspec.Struct, frozen=True):
    """One claimed batch: the runs, each with the fence that it was given under."""

    worker_id: str
    fences: Mapping[UUID, int]
    reported_at: datetime | None = None


class Place(msgspec.Struct, frozen=True, order=True):
    """A place in a key's queue: first in first out by fire, then by arrival."""

    fire_at: datetime
    arrival: int
    run_id: UUID
    limit: int


class Books:
    """The tables. Only a transaction of the ledger touches them, under its lock, at its `now`."""

    def __init__(self, now: datetime) -> None:
        journal = self.journal = Journal()
        self.now = now
        self.arrivals = count()
        self.jobs: Table[UUID, Job] = Table(journal)
        self.identities: Table[UUID, Identity] = Table(journal)
        self.versions: Table[UUID, tuple[Job, ...]] = Table(journal)
        self.schedules: Table[UUID, Standing] = Table(journal)
        self.runs: Table[UUID, Run] = Table(journal)
        self.attempts: Table[UUID, tuple[Attempt, ...]] = Table(journal)
        self.workers: Table[str, datetime] = Table(journal)
        self.pools: Table[str, str] = Table(journal)  # by worker
        self.capacities: Table[str, int] = Table(journal)  # by worker
        self.claims: Table[UUID, Claim] = Table(journal)
        self.stopping: Table[UUID, str] = Table(journal)  # whom to tell, by run
        self.holders: Table[str, Mapping[int, UUID]] = Table(journal)
        self.queues: Table[str, tuple[Place, ...]] = Table(journal)
        self.keys_of: Table[UUID, frozenset[str]] = Table(journal)
        self.leases: Table[str, Lease] = Table(journal)
        self.calendars: Table[tuple[str, str], Calendar] = Table(journal)
        self.idempotency: Table[tuple[str, str, str], UsedKey] = Table(journal)
        # The days that can hold runs; True for those that submissions may write to.
        self.days: Table[date, bool] = Table(journal)
        self.loading: Table[str, Cursor] = Table(journal)
        self.minutes: Table[MinuteKey, Rollup] = Table(journal)
        # Indexes: the runs of a job, and the jobs that wait for one.
        self.runs_of: dict[UUID, Table[UUID, None]] = defaultdict(lambda: Table(journal))
        self.dependents_of: dict[UUID, Table[UUID, None]] = defaultdict(lambda: Table(journal))
        self._open(now)

    def _open(self, now: datetime) -> None:
        self.loading[LOADING] = Cursor(now - PASSED_AFTER, now - PASSED_AFTER)
        for days in range(-DAYS_BEHIND, DAYS_AHEAD + 1):
            self.days[(now + timedelta(days=days)).date()] = True
        self.journal.forget()

    def job(self, tenant: str, job_id: UUID) -> Job:
        job = self.jobs.get(job_id)
        if job is None or job.tenant != tenant:
            raise JobNotFound(f"there is no job {job_id}")
        return job

    def runs_of_job(self, job_id: UUID) -> list[Run]:
        """By fire, oldest first."""
        return [self.runs[run_id] for run_id in sorted(self.runs_of[job_id])]

    def calendars_of(self, tenant: str) -> dict[str, Calendar]:
        return {name: each for (owner, name), each in self.calendars.items() if owner == tenant}
