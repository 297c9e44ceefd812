"""Reads: what the ledger says, by tenant."""

from datetime import datetime
from uuid import UUID

import msgspec

from lamplighter.adapters.postgres.codec import row_to_job, row_to_run
from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.errors import JobNotFound, RunNotFound
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.states import RunState

_SQL = queries("reads")


class PostgresReads:
    _db: Database

    def now(self) -> datetime:
        instant: datetime = self._db.statement(_SQL["now"], {})[0][0]
        return instant

    def job(self, tenant: str, job_id: UUID) -> Job:
        rows = self._db.statement(_SQL["job"], {"tenant": tenant, "job_id": job_id})
        if not rows:
            raise JobNotFound(f"no job {job_id}")
        return row_to_job(rows[0])

    def job_versions(self, tenant: str, job_id: UUID) -> list[Job]:
        present = self.job(tenant, job_id)
        rows = self._db.statement(_SQL["job_versions"], {"tenant": tenant, "job_id": job_id})
        return [*(msgspec.convert(row[0], Job) for row in rows), present]

    def run(self, tenant: str, run_id: UUID) -> Run:
        rows = self._db.statement(_SQL["run"], {"tenant": tenant, "run_id": run_id})
        if not rows:
            raise RunNotFound(f"no run {run_id}")
        return row_to_run(rows[0])

    def runs(self, tenant: str, job_id: UUID, limit: int = 100) -> list[Run]:
        params = {"tenant": tenant, "job_id": job_id, "limit": limit}
        return [row_to_run(row) for row in self._db.statement(_SQL["runs"], params)]

    def attempts(self, tenant: str, run_id: UUID) -> list[Attempt]:
        rows = self._db.statement(_SQL["attempts"], {"tenant": tenant, "run_id": run_id})
        return [Attempt(*row) for row in rows]

    def count_runs(self, state: RunState) -> int:
        return int(self._db.statement(_SQL["count_runs"], {"status": int(state)})[0][0])
