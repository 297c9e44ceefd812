"""Cursors, filters and bounds, over both ledgers."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lamplighter.domain.ids import new_job_id
from lamplighter.domain.job import Job, JobStatus, Policy
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Submission
from lamplighter.domain.states import RunState
from lamplighter.ports import ledger_queries
from lamplighter.ports.ledger_queries import LAST_ID, Crew, JobFilter, QueryLedger, RunFilter
from lamplighter.ports.rollups import WorkerNote
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT, hourly, one_off

SECOND = timedelta(seconds=1)
ANY_JOB, ANY_RUN = JobFilter(), RunFilter()


def _submit(ledger: QueryLedger, count: int, **fields: Any) -> list[UUID]:
    now = ledger.now()
    made = [
        one_off(now + n * SECOND, job_id=new_job_id(now + n * SECOND), **fields)
        for n in range(count)
    ]
    ledger.submit(made)
    return [each.job.job_id for each in made]


def _all_jobs(ledger: QueryLedger, where: JobFilter, limit: int) -> list[Job]:
    found: list[Job] = []
    cursor: UUID | None = LAST_ID
    while cursor is not None:
        page = ledger.list_jobs(TENANT, where, cursor, limit)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.next
    return found


def _ids(jobs: Sequence[Job]) -> list[UUID]:
    return [job.job_id for job in jobs]


def test_pages_lead_through_all_jobs_once_newest_first(ledger: QueryLedger) -> None:
    made = _submit(ledger, 10)
    for limit in (1, 3, 10, 11):
        assert _ids(_all_jobs(ledger, ANY_JOB, limit)) == made[::-1]


def test_nobody_sees_another_tenants_jobs_or_runs(ledger: QueryLedger) -> None:
    _submit(ledger, 3, tenant=OTHER_TENANT)
    mine = _submit(ledger, 2)
    assert _ids(_all_jobs(ledger, ANY_JOB, 10)) == mine[::-1]
    runs = ledger.list_runs(TENANT, ANY_RUN, LAST_ID, 10).items
    assert [run.job_id for run in runs] == mine[::-1]
    theirs = ledger.list_runs(OTHER_TENANT, RunFilter(mine[0]), LAST_ID, 10)
    assert (theirs.items, theirs.next) == ([], None)


def test_a_job_that_comes_between_two_pages_moves_nothing(ledger: QueryLedger) -> None:
    made = _submit(ledger, 4)
    first = ledger.list_jobs(TENANT, ANY_JOB, LAST_ID, 2)
    ledger.submit([one_off(ledger.now(), job_id=new_job_id(ledger.now() + 9 * SECOND))])
    assert first.next is not None
    rest = ledger.list_jobs(TENANT, ANY_JOB, first.next, 10)
    assert _ids(first.items) + _ids(rest.items) == made[::-1]


def test_jobs_are_filtered_by_what_they_are(ledger: QueryLedger) -> None:
    now = ledger.now()
    report = hourly(now, name="The Nightly Report", tags=("a", "b"), pool="eu")
    plain = one_off(now)
    ledger.submit([report, plain])
    ledger.pause(TENANT, report.job.job_id)
    for where in (
        JobFilter(status=JobStatus.PAUSED),
        JobFilter(schedule_type=ScheduleType.INTERVAL),
        JobFilter(pool="eu"),
        JobFilter(tag="b"),
        JobFilter(name="nightly REP"),
        JobFilter(JobStatus.PAUSED, ScheduleType.INTERVAL, "eu", "a", "night"),
    ):
        assert _ids(_all_jobs(ledger, where, 10)) == [report.job.job_id], where
    assert _all_jobs(ledger, JobFilter(tag="c"), 10) == []
    assert _all_jobs(ledger, JobFilter(name="%"), 10) == []


def test_a_job_is_found_in_every_pool_that_it_runs_in(ledger: QueryLedger) -> None:
    now = ledger.now()
    spread = one_off(now, policy=Policy(fan_out=("eu", "us")))
    plain = one_off(now, policy=Policy(critical=True))
    ledger.submit([spread, plain])
    for pool, found in {"eu": spread, "us": spread, "default": plain}.items():
        assert _ids(_all_jobs(ledger, JobFilter(pool=pool), 10)) == [found.job.job_id], pool
    assert _all_jobs(ledger, JobFilter(pool="u"), 10) == []


def test_a_filter_looks_at_so_many_rows_and_says_where_it_stopped(
    ledger: QueryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may be empty and not the last: what is rare is found by going on."""
    import lamplighter.adapters.memory.listing as memory
    import lamplighter.adapters.postgres.listing as postgres

    for module in (memory, postgres, ledger_queries):
        monkeypatch.setattr(module, "SCANNED_AT_MOST", 3)
    [rare] = _submit(ledger, 1, pool="rare")
    _submit(ledger, 7)

    first = ledger.list_jobs(TENANT, JobFilter(pool="rare"), LAST_ID, 10)

    assert first.items == []
    assert first.next is not None
    assert _ids(_all_jobs(ledger, JobFilter(pool="rare"), 10)) == [rare]
    runs = ledger.list_runs(TENANT, RunFilter(pool="rare"), LAST_ID, 10)
    assert (runs.items, runs.next is None) == ([], False)


def test_runs_come_latest_fire_first_in_pages(ledger: QueryLedger) -> None:
    made = _submit(ledger, 5)
    first = ledger.list_runs(TENANT, ANY_RUN, LAST_ID, 3)
    assert first.next is not None
    rest = ledger.list_runs(TENANT, ANY_RUN, first.next, 3)
    assert [run.job_id for run in first.items + rest.items] == made[::-1]
    assert rest.next is None


def test_runs_are_filtered_by_state_time_pool_job_and_origin(ledger: QueryLedger) -> None:
    now = ledger.now().replace(microsecond=0)
    due = one_off(now - SECOND, pool="eu")
    later = one_off(now + timedelta(minutes=5))
    ledger.submit([due, later])
    [extra] = ledger.add_run(TENANT, later.job.job_id, "now:k", now + timedelta(minutes=9))

    def found(where: RunFilter) -> list[UUID]:
        return [run.job_id for run in ledger.list_runs(TENANT, where, LAST_ID, 10).items]

    mine, other = due.job.job_id, later.job.job_id
    assert found(RunFilter(due=True)) == [mine]
    assert found(RunFilter(state=RunState.SCHEDULED, due=False)) == [other, other]
    assert found(RunFilter(state=RunState.RUNNING)) == []
    assert found(RunFilter(pool="eu")) == [mine]
    assert found(RunFilter(mine)) == [mine]
    assert found(RunFilter(since=now + timedelta(minutes=9))) == [other]
    assert found(RunFilter(until=now)) == [mine]
    assert found(RunFilter(since=now, until=now + timedelta(minutes=5))) == []
    [run] = ledger.list_runs(TENANT, RunFilter(origin="now:k"), LAST_ID, 10).items
    assert run.run_id == extra.run_id


def test_lists_carry_no_documents(ledger: QueryLedger) -> None:
    given = one_off(ledger.now(), payload={"a": 1}, target={"type": "http"})
    ledger.submit([given])
    [job] = _all_jobs(ledger, ANY_JOB, 10)
    assert (job.payload, job.target) == (None, None)
    whole = ledger.job(TENANT, job.job_id)
    assert whole.payload == {"a": 1}
    assert msgspec.structs.replace(whole, payload=None, target=None) == job


def test_a_limit_is_held_to_its_bounds(ledger: QueryLedger) -> None:
    made = [one_off(ledger.now()) for _ in range(ledger_queries.LONGEST_PAGE + 1)]
    ledger.submit([Submission(each.job, each.first_fire) for each in made])
    page = ledger.list_jobs(TENANT, ANY_JOB, LAST_ID, 10**9)
    assert len(page.items) == ledger_queries.LONGEST_PAGE
    assert len(ledger.list_jobs(TENANT, ANY_JOB, LAST_ID, 0).items) == 1


def test_workers_are_listed_by_id(ledger: QueryLedger) -> None:
    for name in ("b", "a", "c"):
        ledger.heartbeat(name, "default", 4)
    assert [each.worker_id for each in ledger.list_workers("", 2)] == ["a", "b"]
    assert [each.worker_id for each in ledger.list_workers("b", 2)] == ["c"]


def test_workers_are_counted_by_pool_however_many_there_are(ledger: QueryLedger) -> None:
    before = ledger.now() - timedelta(hours=1)
    many = [f"w{n:04}" for n in range(ledger_queries.LONGEST_PAGE + 1)]
    ledger.note_workers(
        [WorkerNote(each, "eu", 2, "worker.registered", ledger.now()) for each in many]
    )
    ledger.note_workers([WorkerNote("gone", "eu", 2, "worker.registered", before)])
    ledger.heartbeat("zz", "default", 4)

    crews = ledger.count_workers(ledger.now() - timedelta(minutes=1))

    assert crews == [Crew("default", 1, 4), Crew("eu", len(many), 2 * len(many))]


def test_there_are_no_rollups_until_somebody_rolls_up(ledger: QueryLedger) -> None:
    now = ledger.now()
    assert ledger.list_minutes(TENANT, now - timedelta(hours=1), now) == []


def test_a_backfill_is_found_by_its_id_with_or_without_its_budget(ledger: QueryLedger) -> None:
    now = ledger.now()
    made = hourly(now)
    ledger.submit([made])
    for origin in ("backfill:a:at_once=3", "backfill:ab:at_once=3", "now:x:at_once=1"):
        ledger.add_run(TENANT, made.job.job_id, origin, now)

    def found(origin: str) -> list[str]:
        page = ledger.list_runs(TENANT, RunFilter(origin=origin), LAST_ID, 10)
        return [run.origin for run in page.items]

    assert found("backfill:a") == found("backfill:a:at_once=3") == ["backfill:a:at_once=3"]
    assert found("backfill:") == found("now:x") == []
