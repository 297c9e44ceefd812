"""What can be read of the ledger, each by its tenant."""

from datetime import datetime
from uuid import UUID

from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.errors import RunNotFound
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.states import RunState


class MemoryReads(Transactional):
    def now(self) -> datetime:
        return self._clock()

    def job(self, tenant: str, job_id: UUID) -> Job:
        with self._transaction() as books:
            return books.job(tenant, job_id)

    def job_versions(self, tenant: str, job_id: UUID) -> list[Job]:
        with self._transaction() as books:
            job = books.job(tenant, job_id)
            return [*books.versions.get(job_id, ()), job]

    def run(self, tenant: str, run_id: UUID) -> Run:
        with self._transaction() as books:
            run = books.runs.get(run_id)
            if run is None or run.tenant != tenant:
                raise RunNotFound(f"there is no run {run_id}")
            return run

    def runs(self, tenant: str, job_id: UUID, limit: int = 100) -> list[Run]:
        with self._transaction() as books:
            runs = [run for run in books.runs_of_job(job_id) if run.tenant == tenant]
            return runs[::-1][:limit]

    def attempts(self, tenant: str, run_id: UUID) -> list[Attempt]:
        with self._transaction() as books:
            run = books.runs.get(run_id)
            if run is None or run.tenant != tenant:
                return []
            return list(books.attempts.get(run_id, ()))

    def count_runs(self, state: RunState) -> int:
        with self._transaction() as books:
            return sum(run.state is state for run in books.runs.values())
