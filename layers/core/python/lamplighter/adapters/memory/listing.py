"""Pages for people, out of the ledger in memory: the same bounds, the same cursors."""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.job import DEFAULT_POOL, Job
from lamplighter.domain.run import Run
from lamplighter.domain.slots import is_of
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

T = TypeVar("T", Job, Run)


class MemoryListing(Transactional):
    def list_jobs(self, tenant: str, where: JobFilter, before: UUID, limit: int) -> Page[Job]:
        with self._transaction() as books:
            own = {key: job for key, job in books.jobs.items() if job.tenant == tenant}
            scan = _scan(limit, filtered=not where.is_empty)
            page = _page(own, before, scan, limit, lambda job: _wants_job(where, job))
            light = [msgspec.structs.replace(job, payload=None, target=None) for job in page.items]
            return Page(light, page.next)

    def list_runs(self, tenant: str, where: RunFilter, before: UUID, limit: int) -> Page[Run]:
        with self._transaction() as books:
            own = {
                key: run
                for key, run in books.runs.items()
                if run.tenant == tenant and _in_range(where, run)
            }
            scan = _scan(limit, filtered=not where.is_empty)
            now = books.now
            page = _page(own, before, scan, limit, lambda run: _wants_run(where, run, now))
            return Page([_light(run) for run in page.items], page.next)

    def list_workers(self, after: str, limit: int) -> list[Worker]:
        with self._transaction() as books:
            known = [each for each in _workers(books) if each.worker_id > after]
            return known[: min(limit, LONGEST_PAGE)]

    def count_workers(self, since: datetime) -> list[Crew]:
        with self._transaction() as books:
            alive = [each for each in _workers(books) if each.heartbeat_at > since]
            crews: dict[str, list[int]] = defaultdict(list)
            for each in alive:
                crews[each.pool].append(each.capacity)
            return [Crew(pool, len(each), sum(each)) for pool, each in sorted(crews.items())]

    def list_minutes(self, tenant: str, since: datetime, until: datetime) -> list[Minute]:
        with self._transaction() as books:
            lines = [line for _, line in sorted(books.minutes.items())]
            return [
                Minute(*(getattr(line, name) for name in Minute.__struct_fields__))
                for line in lines
                if line.tenant == tenant and since <= line.minute < until
            ]


def _workers(books: Books) -> list[Worker]:
    """By id. Who has claimed, and said nothing else yet, is taken for one of the default pool."""
    return [
        Worker(name, books.pools.get(name, DEFAULT_POOL), books.capacities.get(name, 0), seen, seen)
        for name, seen in sorted(books.workers.items())
    ]


class MemoryQueryLedger(MemoryListing, MemoryLedger):
    """The ledger in memory, and the pages that people read it in."""


def _scan(limit: int, *, filtered: bool) -> int:
    return SCANNED_AT_MOST if filtered else max(1, min(limit, LONGEST_PAGE))


def _page(
    rows: dict[UUID, T], before: UUID, scan: int, limit: int, wanted: Callable[[T], bool]
) -> Page[T]:
    limit = max(1, min(limit, LONGEST_PAGE))
    scanned = sorted((key for key in rows if key < before), reverse=True)[:scan]
    found = [key for key in scanned if wanted(rows[key])][:limit]
    items = [rows[key] for key in found]
    if len(found) == limit:
        return Page(items, found[-1])
    return Page(items, scanned[-1] if len(scanned) == scan else None)


def _wants_job(where: JobFilter, job: Job) -> bool:
    return _all_match(
        (where.status, job.status),
        (where.schedule_type, job.schedule.schedule_type),
        (where.pool, where.pool if where.pool in job.pools else None),
        (where.tag, where.tag if where.tag in job.tags else None),
        (where.name, where.name if (where.name or "").lower() in job.name.lower() else None),
    )


def _wants_run(where: RunFilter, run: Run, now: datetime) -> bool:
    return _all_match(
        (where.state, run.state),
        (where.due, run.due_at <= now),
        (where.pool, run.pool),
        (where.origin, where.origin if is_of(where.origin or "", run.origin) else None),
    )


def _all_match(*pairs: tuple[object, object]) -> bool:
    return all(asked is None or asked == found for asked, found in pairs)


def _in_range(where: RunFilter, run: Run) -> bool:
    return (
        (where.job_id is None or run.job_id == where.job_id)
        and (where.since is None or run.fire_at >= where.since)
        and (where.until is None or run.fire_at < where.until)
    )


def _light(run: Run) -> Run:
    return msgspec.structs.replace(run, result=None, stdout=None, stderr=None)
