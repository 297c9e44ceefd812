"""Rollups: minutes, alarms and workers, each batch in one statement."""

from collections.abc import Collection, Sequence
from uuid import UUID

from lamplighter.adapters.postgres.arrays import bigints, instants, ints, texts, uuids
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.job import DEFAULT_TENANT
from lamplighter.ports.rollups import Rollup, WorkerNote

_SQL = queries("rollups")


class PostgresRollups:
    _db: Database

    def add_minutes(self, rollups: Sequence[Rollup]) -> None:
        if not rollups:
            return
        lines = sorted(rollups, key=_key)
        params = {
            "minutes": instants(line.minute for line in lines),
            "tenants": texts(line.tenant for line in lines),
            "pools": texts(line.pool for line in lines),
            "classes": ints(line.job_class.value for line in lines),
            "states": ints(int(line.state) for line in lines),
            "runs": bigints(line.runs for line in lines),
            "durations": bigints(line.duration_ms for line in lines),
            "lateness": bigints(line.lateness_ms for line in lines),
            "latest": bigints(line.max_lateness_ms for line in lines),
        }
        self._db.statement(_SQL["add_minutes"], params)

    def critical_jobs(self, job_ids: Collection[UUID]) -> dict[UUID, str]:
        if not job_ids:
            return {}
        return dict(self._db.statement(_SQL["critical_jobs"], {"job_ids": uuids(job_ids)}))

    def note_workers(self, notes: Sequence[WorkerNote]) -> None:
        if not notes:
            return
        params = {
            "tenant": DEFAULT_TENANT,  # workers belong to all: whoever runs the cell sees them
            "worker_ids": texts(note.worker_id for note in notes),
            "pools": texts(note.pool for note in notes),
            "capacities": ints(note.capacity for note in notes),
            "actions": texts(note.action for note in notes),
            "ats": instants(note.at for note in notes),
        }
        self._db.statement(_SQL["note_workers"], params)


def _key(line: Rollup) -> tuple[object, ...]:
    return line.minute, line.tenant, line.pool, line.job_class.value, line.state
