"""The caches in memory, by a clock that can be wound."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from lamplighter.adapters.memory.clock import system_clock
from lamplighter.ports.cache import JOB_STATUS_TTL, WORKER_STATUS_TTL, JobStatus

K = TypeVar("K")
V = TypeVar("V")
Shelf = dict[K, tuple[datetime, V]]


class MemoryCache:
    def __init__(self, clock: Callable[[], datetime] = system_clock) -> None:
        self._clock = clock
        self._jobs: Shelf[UUID, JobStatus] = {}
        self._workers: Shelf[str, bytes] = {}
        self._cancelled: Shelf[UUID, bytes] = {}
        self._keys: Shelf[str, bytes] = {}

    def put_job_statuses(self, statuses: Sequence[JobStatus]) -> None:
        for status in statuses:
            known = self._get(self._jobs, [status.job_id]).get(status.job_id)
            if known is None or _how_new(known) <= _how_new(status):
                self._put(self._jobs, {status.job_id: status}, JOB_STATUS_TTL)

    def job_statuses(self, job_ids: Collection[UUID]) -> dict[UUID, bytes]:
        return {job: status.body for job, status in self._get(self._jobs, job_ids).items()}

    def put_worker_statuses(self, statuses: Mapping[str, bytes]) -> None:
        self._put(self._workers, statuses, WORKER_STATUS_TTL)

    def worker_statuses(self, worker_ids: Collection[str]) -> dict[str, bytes]:
        return self._get(self._workers, worker_ids)

    def flag_cancelled(self, run_ids: Collection[UUID], ttl: timedelta) -> None:
        self._put(self._cancelled, dict.fromkeys(run_ids, b""), ttl)

    def cancelled(self, run_ids: Collection[UUID]) -> set[UUID]:
        return set(self._get(self._cancelled, run_ids))

    def put_api_key(self, digest: str, body: bytes, ttl: timedelta) -> None:
        self._put(self._keys, {digest: body}, ttl)

    def api_key(self, digest: str) -> bytes | None:
        return self._get(self._keys, [digest]).get(digest)

    def forget_api_key(self, digest: str) -> None:
        self._keys.pop(digest, None)

    def _put(self, shelf: Shelf[K, V], values: Mapping[K, V], ttl: timedelta) -> None:
        until = self._clock() + ttl
        shelf.update({name: (until, value) for name, value in values.items()})

    def _get(self, shelf: Shelf[K, V], names: Collection[K]) -> dict[K, V]:
        now = self._clock()
        there = {name: shelf[name] for name in names if name in shelf}
        return {name: value for name, (until, value) in there.items() if now < until}


def _how_new(status: JobStatus) -> tuple[int, int, int]:
    return status.fire_ms, status.fence, status.step
