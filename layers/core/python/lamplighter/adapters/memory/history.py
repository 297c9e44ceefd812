"""The history of a ledger in memory, for the checker: the same questions, the same answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from typing import TypeVar
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.ids import first_run_id
from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_history import JobLife, KnownCalendar, LedgerHistory

T = TypeVar("T")


class MemoryHistory:
    """As of one moment, because nobody else gets at the books while they are read."""

    def __init__(self, ledger: Transactional) -> None:
        self._ledger = ledger

    def read(self, work: Callable[[LedgerHistory], T]) -> T:
        with self._ledger._transaction() as books:  # noqa: SLF001 - the same adapter, told apart
            return work(OpenBooks(books))


class OpenBooks:
    def __init__(self, books: Books) -> None:
        self._books = books

    def now(self) -> datetime:
        return self._books.now

    def kept_since(self) -> datetime:
        first = min((day for day, ready in self._books.days.items() if ready), default=None)
        return self._books.now if first is None else datetime.combine(first, time(), UTC)

    def heartbeats(self) -> Mapping[str, datetime]:
        return dict(self._books.workers.items())

    def calendars(self, tenant: str) -> list[KnownCalendar]:
        """These books keep the newest only: of a changed one, nothing but the present is known."""
        known = self._books.calendars_of(tenant)
        now = self._books.now
        return [
            KnownCalendar(known[name], now if known[name].version > 1 else None)
            for name in sorted(known)
        ]

    def lives(self, tenant: str | None, after: UUID, limit: int) -> list[JobLife]:
        ids = [
            job_id
            for job_id, job in self._books.jobs.items()
            if job_id > after and tenant in (None, job.tenant)
        ]
        return self.lives_of(sorted(ids)[:limit])

    def lives_of(self, job_ids: Sequence[UUID]) -> list[JobLife]:
        return [self._life(job_id) for job_id in sorted(set(job_ids) & self._books.jobs.keys())]

    def _life(self, job_id: UUID) -> JobLife:
        books = self._books
        versions = (*books.versions.get(job_id, ()), books.jobs[job_id])
        standing = books.schedules.get(job_id)
        return JobLife(
            tuple(_light_job(job) for job in versions),
            None if standing is None else standing.next_fire_at,
        )

    def runs_of(self, job_ids: Sequence[UUID], since: datetime, until: datetime) -> list[Run]:
        first, last = first_run_id(since), first_run_id(until)
        found = [
            run_id
            for job_id in set(job_ids)
            for run_id in self._books.runs_of[job_id]
            if first <= run_id < last
        ]
        return [_light_run(self._books.runs[run_id]) for run_id in sorted(found)]

    def attempts_of(self, run_ids: Sequence[UUID]) -> list[Attempt]:
        noted = [
            attempt for run_id in set(run_ids) for attempt in self._books.attempts.get(run_id, ())
        ]
        ordered = sorted(noted, key=lambda attempt: (attempt.run_id, attempt.fence))
        return [msgspec.structs.replace(attempt, error_message=None) for attempt in ordered]

    def missed_before(self, job_id: UUID, since: datetime) -> list[Run]:
        found = {
            run.pool: run
            for run in self._books.runs_of_job(job_id)
            if run.fire_at < since and run.missed_to is not None and run.missed_to >= since
        }
        return [_light_run(found[pool]) for pool in sorted(found)]

    def strays(self, tenant: str | None, since: datetime, until: datetime, limit: int) -> list[Run]:
        books = self._books
        found = [
            run_id
            for run_id, run in books.runs.items()
            if run.job_id not in books.jobs
            and since <= run.fire_at < until
            and tenant in (None, run.tenant)
        ]
        return [_light_run(books.runs[run_id]) for run_id in sorted(found)[:limit]]

    def ahead_in(self, keys: Sequence[str]) -> Mapping[str, frozenset[UUID]]:
        ahead = {key: frozenset(self._ahead(key)) for key in keys}
        return {key: runs for key, runs in ahead.items() if runs}

    def _ahead(self, key: str) -> Iterator[UUID]:
        yield from self._books.holders.get(key, {}).values()
        for place in self._books.queues.get(key, ()):
            if self._books.runs[place.run_id].state is not RunState.PARKED:
                yield place.run_id


def _light_job(job: Job) -> Job:
    return msgspec.structs.replace(job, payload=None, target=None)


def _light_run(run: Run) -> Run:
    return msgspec.structs.replace(run, result=None, stdout=None, stderr=None)
