"""Who changes a job finds its open runs, in whatever state and however old they are."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.job import Job, Policy
from lamplighter.domain.policy import OnAmbiguous
from lamplighter.domain.run import Submission, Ticket
from lamplighter.domain.slots import backfill_origin
from lamplighter.domain.states import RunState
from tests.adapters.postgres.days import Conn
from tests.adapters.postgres.making import (
    HOUR,
    MINUTE,
    after,
    claim_one,
    failure,
    once,
    submit_often,
    utc_now,
)

_S = RunState
LONG_AGO = timedelta(days=3)
NO_SILENCE = timedelta(seconds=-1)


def _job(ledger: PostgresLedger, **fields: Any) -> Job:
    return submit_often(ledger, utc_now() + HOUR, **fields)[0]


def _old(ledger: PostgresLedger, job: Job) -> Ticket:
    """A run whose nominal fire is days past, as a backfill makes it."""
    fire = utc_now() - LONG_AGO
    [due] = ledger.add_run(job.tenant, job.job_id, backfill_origin("1", 9), fire)
    return Ticket(due.run_id, due.fence)


def _waiting(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job = _job(ledger)
    return job, _old(ledger, job).run_id


def _running(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job = _job(ledger)
    ticket = _old(ledger, job)
    claim_one(ledger, ticket, "worker")
    return job, ticket.run_id


def _cancelling(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job, run_id = _running(ledger, conn)
    ledger.cancel_runs(job.tenant, [run_id])
    return job, run_id


def _retrying(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job = _job(ledger, max_retries=1)
    ticket = _old(ledger, job)
    ledger.finish([failure(ticket.run_id, claim_one(ledger, ticket, "worker"))])
    return job, ticket.run_id


def _held(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job = _job(ledger, policy=Policy(on_ambiguous=OnAmbiguous.HOLD))
    ticket = _old(ledger, job)
    claim_one(ledger, ticket, "worker")
    ledger.requeue_lost(NO_SILENCE)
    return job, ticket.run_id


def _parked(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    job = _job(ledger)
    fires = [utc_now() - LONG_AGO, utc_now() - LONG_AGO + MINUTE]
    ledger.add_runs(job.tenant, job.job_id, backfill_origin("1", 1), fires)
    [parked] = [r for r in ledger.runs(job.tenant, job.job_id) if r.state is _S.PARKED]
    return job, parked.run_id


def _blocked(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    fire = utc_now() - LONG_AGO
    ledger.ensure_partitions(fire, utc_now())
    upstream = once(fire)
    job = after(upstream)
    ledger.submit([Submission(upstream, first_fire=fire), Submission(job)])
    [run] = ledger.runs(job.tenant, job.job_id)
    return job, run.run_id


def _not_looked_at_yet(ledger: PostgresLedger, conn: Conn) -> tuple[Job, UUID]:
    """On schedule, and nobody has loaded anything since: the watermark stands before it."""
    job, run_id = _waiting(ledger, conn)
    conn.execute("UPDATE job_runs SET wake_at = NULL WHERE run_id = %s", [run_id])
    conn.execute("UPDATE ledger_bounds SET watermark = now() - interval '4 days'")
    return job, run_id


OPEN: dict[RunState, Callable[[PostgresLedger, Conn], tuple[Job, UUID]]] = {
    _S.SCHEDULED: _waiting,
    _S.BLOCKED: _blocked,
    _S.PARKED: _parked,
    _S.RUNNING: _running,
    _S.RETRYING: _retrying,
    _S.HELD: _held,
    _S.CANCELLING: _cancelling,
}
WITH_WORKER = (_S.RUNNING, _S.CANCELLING)


def _state(conn: Conn, run_id: UUID) -> RunState:
    [(status,)] = conn.execute("SELECT status FROM job_runs WHERE run_id = %s", [run_id]).fetchall()
    return RunState(status)


def test_every_open_state_is_looked_for() -> None:
    assert set(OPEN) == {state for state in RunState if not state.is_final}


@pytest.mark.parametrize("state", OPEN, ids=lambda state: state.name)
def test_a_cancelled_job_leaves_no_old_run_open(
    ledger: PostgresLedger, conn: Conn, state: RunState
) -> None:
    job, run_id = OPEN[state](ledger, conn)
    assert _state(conn, run_id) is state

    ledger.cancel_job(job.tenant, job.job_id)

    left = _S.CANCELLING if state in WITH_WORKER else _S.CANCELLED
    assert _state(conn, run_id) is left


def test_a_run_that_the_leader_has_not_come_to_is_cancelled(
    ledger: PostgresLedger, conn: Conn
) -> None:
    job, run_id = _not_looked_at_yet(ledger, conn)
    ledger.cancel_job(job.tenant, job.job_id)
    assert _state(conn, run_id) is _S.CANCELLED
