"""Ten million run ids of one millisecond, which is where they could collide, in two processes."""

import multiprocessing
from array import array
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

from lamplighter.domain import ids

PROCESSES = 2
_BUCKETS = 64
_LOW_62 = (1 << 62) - 1
_FIRE = datetime(2026, 3, 1, 12, tzinfo=UTC)


class _LightUuid:
    """As much of a UUID as `run_id` reads. To make real ones would be most of the cost."""

    __slots__ = ("bytes",)

    def __init__(self) -> None:
        self.bytes = bytes(16)


def collisions(how_many: int) -> int:
    """How many of so many jobs' runs at one instant share the last 62 bits of their ids."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context) as pool:
        parts = list(pool.map(_hashes, range(PROCESSES), [how_many] * PROCESSES))
    found = (_distinct(bucket) for bucket in zip(*parts, strict=True))
    return how_many - sum(found)


def _distinct(parts: Iterable[bytes]) -> int:
    seen: set[int] = set()
    for part in parts:
        seen.update(array("Q", part))
    return len(seen)


def _hashes(start: int, end: int) -> list[bytes]:
    """The ids' last 62 bits, in buckets: equal ones meet, and a bucket fits in memory."""
    buckets = [array("Q") for _ in range(_BUCKETS)]
    job: Any = _LightUuid()
    ids.run_id(job, _FIRE, "default")  # keeps what all runs of the instant have in common
    with patch.object(ids, "_uuid", lambda value: value):
        for number in range(start, end, PROCESSES):
            job.bytes = number.to_bytes(16, "big")
            last: Any = ids.run_id(job, _FIRE, "default")
            last &= _LOW_62
            buckets[last % _BUCKETS].append(last)
    return [bucket.tobytes() for bucket in buckets]
