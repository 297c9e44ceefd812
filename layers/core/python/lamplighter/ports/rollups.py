"""Rollups: what is counted and noted beside the runs, so that nobody ever counts rows."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState


class Rollup(msgspec.Struct, frozen=True):
    """What to add to one minute of a tenant. Durations and lateness in sum, in milliseconds."""

    minute: datetime
    tenant: str
    pool: str
    job_class: JobClass
    state: RunState
    runs: int
    duration_ms: int
    lateness_ms: int
    max_lateness_ms: int


class WorkerNote(msgspec.Struct, frozen=True):
    """Something that happened to a worker, for the registry and the audit log."""

    worker_id: str
    pool: str
    capacity: int
    action: str  # worker.registered, worker.lost, worker.stopped
    at: datetime


class Rollups(Protocol):
    def add_minutes(self, rollups: Sequence[Rollup]) -> None:
        """Add to the minutes; each of them once per call. Not fit to be repeated: it would count.

        May be lost with the power: it is for curves, and the runs themselves are not.
        """

    def critical_jobs(self, job_ids: Collection[UUID]) -> dict[UUID, str]:
        """Names of those of these jobs whose failure somebody wants to be woken for."""

    def note_workers(self, notes: Sequence[WorkerNote]) -> None:
        """Write into the audit log, once each; who registered is known, who stopped is not.

        A note is no heartbeat: one that comes late makes nobody live longer.
        """
