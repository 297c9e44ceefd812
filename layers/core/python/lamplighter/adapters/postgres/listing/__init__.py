"""Pages for people: what the HTTP functions ask the ledger for. A file of SQL for each question."""

from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any, Final, TypeVar
from uuid import UUID

from lamplighter.adapters.postgres.codec import JOB_COLUMNS, RUN_COLUMNS, row_to_job, row_to_run
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_queries import (
    LONGEST_PAGE,
    SCANNED_AT_MOST,
    Crew,
    JobFilter,
    Minute,
    Page,
    RunFilter,
    Worker,
)

T = TypeVar("T")

MOST_ROLLUPS: Final = 100_000
_FIRST_ID: Final = UUID(int=0)


def without(columns: str, documents: str) -> str:
    """The columns, with nulls for documents: hundreds of them would be megabytes."""
    if documents not in columns:
        raise ValueError(f"the columns have changed: no {documents!r}")
    return columns.replace(documents, ", ".join("NULL" for _ in documents.split(",")))


_COLUMNS: Final = {
    "{job_columns}": without(JOB_COLUMNS, "j.payload, j.target"),
    "{run_columns}": without(RUN_COLUMNS, "r.result, r.stdout, r.stderr"),
}


def query(name: str) -> bytes:
    """The statement in `<name>.sql`."""
    text = (files(__package__) / f"{name}.sql").read_text(encoding="utf-8")
    for place, columns in _COLUMNS.items():
        text = text.replace(place, columns)
    return text.encode()


_JOBS: Final = query("jobs")
_RUNS: Final = query("runs")
_WORKERS: Final = query("workers")
_CREWS: Final = query("crews")
_MINUTES: Final = query("minutes")


class PostgresListing:
    _db: Database

    def list_jobs(self, tenant: str, where: JobFilter, before: UUID, limit: int) -> Page[Job]:
        kind = where.schedule_type
        params = {
            **_bounds(tenant, before, limit, filtered=not where.is_empty),
            "status": None if where.status is None else int(where.status),
            "schedule_type": None if kind is None else kind.value,
            "pool": where.pool,
            "tag": where.tag,
            "name": where.name,
        }
        return _page(self._db.statement(_JOBS, params), params, row_to_job)

    def list_runs(self, tenant: str, where: RunFilter, before: UUID, limit: int) -> Page[Run]:
        end = before if where.until is None else min(before, first_run_id(where.until))
        params = {
            **_bounds(tenant, end, limit, filtered=not where.is_empty),
            "first": _FIRST_ID if where.since is None else first_run_id(where.since),
            "job_id": where.job_id,
            "status": None if where.state is None else int(where.state),
            "due": where.due,
            "pool": where.pool,
            "origin": where.origin,
        }
        return _page(self._db.statement(_RUNS, params), params, row_to_run)

    def list_workers(self, after: str, limit: int) -> list[Worker]:
        params = {"after": after, "limit": min(limit, LONGEST_PAGE)}
        return [Worker(*row) for row in self._db.statement(_WORKERS, params)]

    def count_workers(self, since: datetime) -> list[Crew]:
        return [Crew(*row) for row in self._db.statement(_CREWS, {"since": since})]

    def list_minutes(self, tenant: str, since: datetime, until: datetime) -> list[Minute]:
        params = {"tenant": tenant, "since": since, "until": until, "limit": MOST_ROLLUPS}
        return [
            Minute(minute, pool, JobClass(class_), RunState(status), *sums)
            for minute, pool, class_, status, *sums in self._db.statement(_MINUTES, params)
        ]


class PostgresQueryLedger(PostgresListing, PostgresLedger):
    """The ledger, and the pages that people read it in."""


def _bounds(tenant: str, before: UUID, limit: int, *, filtered: bool) -> dict[str, Any]:
    limit = max(1, min(limit, LONGEST_PAGE))
    scan = SCANNED_AT_MOST if filtered else limit
    return {"tenant": tenant, "before": before, "limit": limit, "scan": scan}


def _page(
    rows: Sequence[Row], params: dict[str, Any], to_item: Callable[[Sequence[Any]], T]
) -> Page[T]:
    """Rows of how far it looked, then the item; a lone row without item when nothing was left."""
    scanned, last_scanned = rows[0][:2]
    found = [row[2:] for row in rows if row[2] is not None]
    items = [to_item(row) for row in found]
    if len(found) == params["limit"]:
        return Page(items, found[-1][0])
    return Page(items, last_scanned if scanned == params["scan"] else None)
