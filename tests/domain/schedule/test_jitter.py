"""Jitter: stable per job, uniform over all jobs, and no part of a fire."""

from uuid import UUID

from lamplighter.domain.schedule import align, jitter_ms, next_fire
from tests.domain.schedule.helpers import cron, utc

JOBS = [UUID(int=number) for number in range(4000)]


def test_a_job_waits_the_same_every_time() -> None:
    schedule = cron("0 0 * * *", jitter_seconds=60)
    assert [jitter_ms(job, schedule) for job in JOBS] == [jitter_ms(job, schedule) for job in JOBS]
    assert jitter_ms(JOBS[7], schedule) == jitter_ms(JOBS[7].bytes, schedule)


def test_the_value_is_part_of_the_contract() -> None:
    # Watchers of two versions must agree on when a run is due.
    job = UUID("018f4f3a-0000-7000-8000-000000000001")
    assert jitter_ms(job, cron("0 0 * * *", jitter_seconds=3600)) == 2_666_767


def test_jobs_spread_evenly_over_the_whole_width() -> None:
    waits = [jitter_ms(job, cron("0 0 * * *", jitter_seconds=10)) for job in JOBS]
    assert min(waits) >= 0
    assert max(waits) <= 10_000
    tenths = [sum(1000 * n <= wait < 1000 * (n + 1) for wait in waits) for n in range(10)]
    assert all(320 < tenth < 480 for tenth in tenths)


def test_both_ends_can_be_had() -> None:
    waits = {jitter_ms(job, cron("0 0 * * *", jitter_seconds=0.003)) for job in JOBS}
    assert waits == {0, 1, 2, 3}


def test_no_jitter_is_none() -> None:
    assert {jitter_ms(job, cron("0 0 * * *")) for job in JOBS} == {0}


def test_a_fire_is_not_moved() -> None:
    plain, spread = cron("0 0 * * *"), cron("0 0 * * *", jitter_seconds=600)
    start = utc("2025-01-01T00:00")
    assert next_fire(plain, start) == next_fire(spread, start)
    assert align(plain, spread)
