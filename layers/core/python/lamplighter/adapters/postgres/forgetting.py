"""What leaves after the retention without being part of a day: each kind in pages, by its index."""

from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from lamplighter.adapters.postgres.database import Database
from lamplighter.adapters.postgres.leaving import PAGE, forget_jobs
from lamplighter.adapters.postgres.partitions import day_named
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.retention import versions_until

_SQL: Final = queries("forgetting")
_DAYS: Final = queries("partitions")
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


class PostgresForgetting:
    _db: Database

    def forget_before(self, before: datetime) -> None:
        self._forget_old("forget_audit", before)
        self._forget_old("forget_minutes", before)
        self._forget_old("forget_versions", versions_until(before, self._oldest_day()))
        self._forget_ended(before)

    def _forget_old(self, name: str, before: datetime) -> None:
        params = {"before": before, "limit": PAGE}
        while len(self._db.statement(_SQL[name], params)) == PAGE:
            pass

    def _oldest_day(self) -> datetime | None:
        rows = self._db.statement(_DAYS["partitions"], {})
        return day_named(rows[0][0]) if rows else None

    def _forget_ended(self, before: datetime) -> None:
        """Cancelled or refused, and without history: no day takes these with it."""
        at, job_id = _FIRST, UUID(int=0)
        params = {"before": before, "limit": PAGE}
        while rows := self._db.statement(_SQL["ended_jobs"], params | {"at": at, "job_id": job_id}):
            forget_jobs(self._db, [row[1] for row in rows], before)
            at, job_id = rows[-1]
