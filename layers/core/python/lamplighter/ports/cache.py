"""The cache: answers that may be old, kept for a while, so that reading them costs little.

Bodies are bytes: whoever writes and reads them knows what they mean. What is missing was never
there or has expired; ask the ledger. All calls raise QueueUnavailable when out of reach.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final, Protocol
from uuid import UUID

import msgspec

JOB_STATUS_TTL: Final = timedelta(hours=1)
WORKER_STATUS_TTL: Final = timedelta(minutes=5)


class JobStatus(msgspec.Struct, frozen=True):
    """A job's status, and how new it is: a lower (fire_ms, fence, step) never replaces a higher.

    `step` orders what happens under one fence: queued, running, ended.
    """

    job_id: UUID
    fire_ms: int
    fence: int
    step: int
    body: bytes


class Cache(Protocol):
    def put_job_statuses(self, statuses: Sequence[JobStatus]) -> None:
        """Kept for an hour."""

    def job_statuses(self, job_ids: Collection[UUID]) -> dict[UUID, bytes]: ...

    def put_worker_statuses(self, statuses: Mapping[str, bytes]) -> None:
        """By worker id; kept for five minutes."""

    def worker_statuses(self, worker_ids: Collection[str]) -> dict[str, bytes]: ...

    def flag_cancelled(self, run_ids: Collection[UUID], ttl: timedelta) -> None:
        """Tell the workers of these runs, faster than their next heartbeat would."""

    def cancelled(self, run_ids: Collection[UUID]) -> set[UUID]:
        """Which of these somebody wants stopped."""

    def put_api_key(self, digest: str, body: bytes, ttl: timedelta) -> None:
        """Who this key is, by its digest: the key itself is never kept."""

    def api_key(self, digest: str) -> bytes | None: ...

    def forget_api_key(self, digest: str) -> None: ...
