"""The caches: kept for their time, and never older than what was there."""

import time
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from lamplighter.adapters.memory.cache import MemoryCache
from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.valkey.cache import ValkeyCache
from lamplighter.adapters.valkey.client import Client
from lamplighter.ports.cache import JOB_STATUS_TTL, Cache, JobStatus
from tests.adapters.queue.builders import NOON
from tests.adapters.queue.stores import Store, in_a_cluster_too

JOB = UUID(int=7)
LONG = timedelta(minutes=5)


@pytest.fixture
def cache(store: Store) -> Cache:
    return store.cache


def _status(fire_ms: int = 0, fence: int = 0, step: int = 0, body: bytes = b"?") -> JobStatus:
    return JobStatus(JOB, fire_ms, fence, step, body)


@in_a_cluster_too
def test_statuses_are_put_and_got_by_the_thousand(cache: Cache) -> None:
    jobs = [uuid4() for _ in range(1200)]
    cache.put_job_statuses([JobStatus(job, 1, 0, 0, job.bytes) for job in jobs])
    assert cache.job_statuses([*jobs, uuid4()]) == {job: job.bytes for job in jobs}


@in_a_cluster_too
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_status(1_800_000_000_001), _status(1_800_000_000_000, fence=9, step=9)),
        (_status(5, fence=2), _status(5, fence=1, step=9)),
        (_status(5, fence=2, step=2), _status(5, fence=2, step=1)),
    ],
    ids=["fire", "fence", "step"],
)
def test_an_older_status_never_replaces_a_newer(
    cache: Cache, first: JobStatus, second: JobStatus
) -> None:
    cache.put_job_statuses([JobStatus(JOB, first.fire_ms, first.fence, first.step, b"new")])
    cache.put_job_statuses([JobStatus(JOB, second.fire_ms, second.fence, second.step, b"old")])
    assert cache.job_statuses([JOB]) == {JOB: b"new"}


def test_a_newer_status_and_an_equal_one_replace(cache: Cache) -> None:
    for step, body in ((1, b"queued"), (2, b"running"), (2, b"running, again"), (3, b"ended")):
        cache.put_job_statuses([_status(step=step, body=body)])
        assert cache.job_statuses([JOB]) == {JOB: body}


def test_of_two_in_one_batch_the_newer_stays(cache: Cache) -> None:
    cache.put_job_statuses([_status(step=3, body=b"ended"), _status(step=2, body=b"running")])
    assert cache.job_statuses([JOB]) == {JOB: b"ended"}


@in_a_cluster_too
def test_workers_are_known_by_their_name(cache: Cache) -> None:
    cache.put_worker_statuses({"w:1": b"busy", "w:2": b"idle"})
    assert cache.worker_statuses(["w:1", "w:2", "w:3"]) == {"w:1": b"busy", "w:2": b"idle"}


@in_a_cluster_too
def test_a_cancelled_run_is_flagged_among_many(cache: Cache) -> None:
    runs = [uuid4() for _ in range(1200)]
    cache.flag_cancelled(runs[:600], LONG)
    assert cache.cancelled(runs) == set(runs[:600])
    assert cache.cancelled([]) == set()


def test_an_api_key_is_known_until_it_is_forgotten(cache: Cache) -> None:
    cache.put_api_key("digest", b"who", LONG)
    assert cache.api_key("digest") == b"who"
    cache.forget_api_key("digest")
    assert cache.api_key("digest") is None


def test_a_flag_goes_when_its_time_is_over(cache: Cache) -> None:
    cache.flag_cancelled([JOB], timedelta(milliseconds=30))
    deadline = time.monotonic() + 5
    while cache.cancelled([JOB]):
        assert time.monotonic() < deadline


def test_a_status_is_kept_for_an_hour(valkey_client: Client) -> None:
    cache = ValkeyCache(valkey_client)
    cache.put_job_statuses([_status()])
    cache.put_worker_statuses({"w": b""})
    assert 3590 < valkey_client.ask("TTL", valkey_client.key(f"job_status:{JOB}")) <= 3600
    assert 290 < valkey_client.ask("TTL", valkey_client.key("worker_status:w")) <= 300


def test_in_memory_too() -> None:
    clock = WoundClock(NOON)
    cache = MemoryCache(clock)
    cache.put_job_statuses([_status(step=9)])
    clock.wind(JOB_STATUS_TTL)
    assert cache.job_statuses([JOB]) == {}
    cache.put_job_statuses([_status(step=1, body=b"later")])
    assert cache.job_statuses([JOB]) == {JOB: b"later"}
