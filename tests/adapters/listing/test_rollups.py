"""What is counted and noted beside the runs."""

import threading
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from lamplighter.adapters.postgres.listing import PostgresQueryLedger
from lamplighter.domain.job import Policy
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Ticket
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_queries import Minute, QueryLedger
from lamplighter.ports.rollups import Rollup, WorkerNote
from tests.adapters.ledger.builders import TENANT, one_off

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def _line(minute: datetime = NOON, *, runs: int = 1, late: int = 0, pool: str = "p") -> Rollup:
    state = RunState.SUCCESS
    return Rollup(minute, TENANT, pool, JobClass.P2, state, runs, 10 * runs, late, late)


def test_what_is_added_to_a_minute_is_summed_and_the_latest_start_kept(ledger: QueryLedger) -> None:
    ledger.add_minutes([_line(runs=2, late=5), _line(NOON + MINUTE)])
    ledger.add_minutes([_line(runs=3, late=4)])

    found = ledger.list_minutes(TENANT, NOON, NOON + MINUTE)

    assert found == [Minute(NOON, "p", JobClass.P2, RunState.SUCCESS, 5, 50, 9, 5)]


def test_a_minute_is_its_tenants_own(ledger: QueryLedger) -> None:
    ledger.add_minutes([_line()])
    assert ledger.list_minutes("another", NOON, NOON + MINUTE) == []


def test_sums_beyond_32_bits_are_kept(ledger: QueryLedger) -> None:
    ledger.add_minutes([_line(late=2**40)])
    [found] = ledger.list_minutes(TENANT, NOON, NOON + MINUTE)
    assert found.max_lateness_ms == 2**40


def test_recorders_that_add_to_the_same_minutes_at_once_lose_nothing(ledger: QueryLedger) -> None:
    lines = [_line(pool=f"pool-{n}") for n in range(20)]

    def add(some: list[Rollup]) -> None:
        for _ in range(10):
            ledger.add_minutes(some)

    threads = [threading.Thread(target=add, args=(order,)) for order in (lines, lines[::-1]) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [line.runs for line in ledger.list_minutes(TENANT, NOON, NOON + MINUTE)] == [40] * 20


def test_only_jobs_that_say_so_are_critical(ledger: QueryLedger) -> None:
    now = ledger.now()
    loud = one_off(now, name="loud", policy=Policy(critical=True))
    quiet = one_off(now)
    ledger.submit([loud, quiet])

    found = ledger.critical_jobs([loud.job.job_id, quiet.job.job_id, uuid4()])

    assert found == {loud.job.job_id: "loud"}
    assert ledger.critical_jobs([]) == {}


def _note(action: str, at: datetime, worker: str = "w1") -> WorkerNote:
    return WorkerNote(worker, "default", 4, f"worker.{action}", at)


def test_who_registers_is_known_and_who_stops_is_not(ledger: QueryLedger) -> None:
    now = ledger.now()
    ledger.note_workers([_note("registered", now), _note("registered", now, "w2")])
    ledger.note_workers([_note("stopped", now + MINUTE)])
    assert [worker.worker_id for worker in ledger.list_workers("", 10)] == ["w2"]


def test_a_note_that_comes_late_makes_nobody_live_longer(ledger: QueryLedger) -> None:
    ledger.note_workers([_note("registered", ledger.now() - timedelta(hours=1))])
    [worker] = ledger.list_workers("", 10)
    assert worker.heartbeat_at < ledger.now() - MINUTE


def test_a_worker_that_was_heard_of_since_has_not_stopped(ledger: QueryLedger) -> None:
    before = ledger.now() - MINUTE
    ledger.heartbeat("w1", "default", 4)
    ledger.note_workers([_note("stopped", before)])
    assert [worker.worker_id for worker in ledger.list_workers("", 10)] == ["w1"]


def test_a_worker_that_stops_with_runs_in_hand_is_still_missed(ledger: QueryLedger) -> None:
    submission = one_off(ledger.now() - timedelta(seconds=1))
    [due] = ledger.submit([submission]).runs
    ledger.claim("w1", uuid4(), [Ticket(due.run_id, due.fence)])

    ledger.note_workers([_note("stopped", ledger.now() + MINUTE)])

    [lost] = ledger.requeue_lost(timedelta(seconds=-60))
    assert lost.run_id == due.run_id


@pytest.mark.parametrize("ledger", ["postgres"], indirect=True)
def test_a_note_that_comes_twice_is_written_once(
    ledger: PostgresQueryLedger, listing_url: str
) -> None:
    notes = [_note("lost", NOON), _note("lost", NOON), _note("stopped", NOON)]
    for _ in range(2):
        ledger.note_workers(notes)
    with psycopg.connect(listing_url) as conn:
        rows = conn.execute("SELECT actor, action, subject FROM audit_log ORDER BY action")
        assert rows.fetchall() == [
            ("w1", "worker.lost", "default"),
            ("w1", "worker.stopped", "default"),
        ]
