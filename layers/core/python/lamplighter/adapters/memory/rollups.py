"""Rollups in memory: the same sums, and as much of the registry as this ledger keeps."""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.journal import Table
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.ports.rollups import Rollup, WorkerNote


class MemoryRollups(Transactional):
    def add_minutes(self, rollups: Sequence[Rollup]) -> None:
        with self._transaction() as books:
            for line in rollups:
                key = (line.minute, line.tenant, line.pool, line.job_class.value, int(line.state))
                before = books.minutes.get(key)
                books.minutes[key] = line if before is None else _sum(before, line)

    def critical_jobs(self, job_ids: Collection[UUID]) -> dict[UUID, str]:
        with self._transaction() as books:
            jobs = [books.jobs[job_id] for job_id in job_ids if job_id in books.jobs]
            return {job.job_id: job.name for job in jobs if job.policy.critical}

    def note_workers(self, notes: Sequence[WorkerNote]) -> None:
        with self._transaction() as books:
            holding = {claim.worker_id for claim in books.claims.values()}
            for note in notes:
                if note.action == "worker.registered":
                    _know(books, note)
                elif note.action == "worker.stopped" and note.worker_id not in holding:
                    _forget(books.workers, note)


def _sum(before: Rollup, line: Rollup) -> Rollup:
    return msgspec.structs.replace(
        before,
        runs=before.runs + line.runs,
        duration_ms=before.duration_ms + line.duration_ms,
        lateness_ms=before.lateness_ms + line.lateness_ms,
        max_lateness_ms=max(before.max_lateness_ms, line.max_lateness_ms),
    )


def _know(books: Books, note: WorkerNote) -> None:
    if note.worker_id not in books.workers:
        books.workers[note.worker_id] = note.at
        books.pools[note.worker_id] = note.pool
        books.capacities[note.worker_id] = note.capacity


def _forget(workers: Table[str, datetime], note: WorkerNote) -> None:
    """Unless it has been heard of since: another may have taken its name."""
    if workers.get(note.worker_id, note.at) <= note.at:
        workers.pop(note.worker_id, None)
