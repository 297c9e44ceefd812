"""The caches on Valkey. Values with a time to live; many in one round trip."""

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import TypeVar
from uuid import UUID

from lamplighter.adapters.valkey.client import CHUNK, Argument, Client
from lamplighter.adapters.valkey.codec import chunks
from lamplighter.adapters.valkey.scripts import script
from lamplighter.ports.cache import JOB_STATUS_TTL, WORKER_STATUS_TTL, JobStatus

K = TypeVar("K")
_HOW_NEW = struct.Struct(">ddd")


class ValkeyCache:
    def __init__(self, client: Client) -> None:
        self._client = client

    def put_job_statuses(self, statuses: Sequence[JobStatus]) -> None:
        seconds = int(JOB_STATUS_TTL.total_seconds())
        for chunk in chunks(statuses, CHUNK):
            keys = [self._job_status(each.job_id) for each in chunk]
            values: list[Argument] = [seconds, *map(_value, chunk)]
            self._client.run(script("put_statuses"), values, keys)

    def job_statuses(self, job_ids: Collection[UUID]) -> dict[UUID, bytes]:
        found = self._get(job_ids, self._job_status)
        return {job: value[_HOW_NEW.size :] for job, value in found.items()}

    def put_worker_statuses(self, statuses: Mapping[str, bytes]) -> None:
        self._put({self._worker_status(k): v for k, v in statuses.items()}, WORKER_STATUS_TTL)

    def worker_statuses(self, worker_ids: Collection[str]) -> dict[str, bytes]:
        return self._get(worker_ids, self._worker_status)

    def flag_cancelled(self, run_ids: Collection[UUID], ttl: timedelta) -> None:
        self._put({self._cancellation(run): b"" for run in run_ids}, ttl)

    def cancelled(self, run_ids: Collection[UUID]) -> set[UUID]:
        return set(self._get(run_ids, self._cancellation))

    def put_api_key(self, digest: str, body: bytes, ttl: timedelta) -> None:
        self._put({self._api_key(digest): body}, ttl)

    def api_key(self, digest: str) -> bytes | None:
        return self._get([digest], self._api_key).get(digest)

    def forget_api_key(self, digest: str) -> None:
        self._client.ask("DEL", self._api_key(digest))

    def _put(self, values: Mapping[str, bytes], ttl: timedelta) -> None:
        milliseconds = max(1, round(ttl.total_seconds() * 1000))
        for chunk in chunks(values.items(), CHUNK):
            self._client.ask_many(("SET", key, value, "PX", milliseconds) for key, value in chunk)

    def _get(self, names: Collection[K], key_of: Callable[[K], str]) -> dict[K, bytes]:
        found: dict[K, bytes] = {}
        for chunk in chunks(names, CHUNK):
            values = self._client.ask("MGET", *(key_of(name) for name in chunk))
            pairs = zip(chunk, values, strict=True)
            found |= {name: value for name, value in pairs if value is not None}
        return found

    def _job_status(self, job_id: UUID) -> str:
        return self._client.key(f"job_status:{job_id}")

    def _worker_status(self, worker_id: str) -> str:
        return self._client.key(f"worker_status:{worker_id}")

    def _cancellation(self, run_id: UUID) -> str:
        return self._client.key(f"cancelled:{run_id}")

    def _api_key(self, digest: str) -> str:
        return self._client.key(f"api_key:{digest}")


def _value(status: JobStatus) -> bytes:
    return _HOW_NEW.pack(status.fire_ms, status.fence, status.step) + status.body
