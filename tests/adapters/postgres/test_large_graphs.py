"""Graphs of thousands: written whole, and skipped in transactions of a few statements each."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from lamplighter.adapters.postgres import dependents
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job
from lamplighter.domain.run import Submission
from lamplighter.domain.states import RunState
from tests.adapters.postgres.counting import Counted, CountingLedger
from tests.adapters.postgres.days import Conn
from tests.adapters.postgres.making import (
    after,
    claim_one,
    failure,
    once,
    submit_once,
    utc_now,
)

LONG = 1000
MANY = 10_000
# What a page of judging takes, however deep the graph below it.
STATEMENTS = 25


@pytest.fixture
def counted(url: str) -> Iterator[Counted]:
    ledger = CountingLedger(url)
    yield Counted(ledger, ledger.transactions)
    ledger.close()


def _failed_chain(ledger: PostgresLedger, length: int) -> tuple[Job, list[Job]]:
    """A root that has failed, and so many that wait, each for the one before."""
    root, ticket = submit_once(ledger, utc_now(), max_retries=0)
    chain = [after(root)]
    while len(chain) < length:
        chain.append(after(chain[-1]))
    ledger.submit([Submission(job) for job in chain])
    ledger.finish([failure(ticket.run_id, claim_one(ledger, ticket, "worker"))])
    return root, chain


def _states(conn: Conn) -> dict[RunState, int]:
    query = "SELECT status, count(*) FROM job_runs GROUP BY status"
    return {RunState(status): runs for status, runs in conn.execute(query)}


def test_a_long_chain_is_skipped_in_few_statements_per_transaction(
    counted: Counted, conn: Conn
) -> None:
    root, chain = _failed_chain(counted.ledger, LONG)
    [run] = counted.ledger.runs(root.tenant, root.job_id)
    counted.transactions.clear()

    settled = counted.ledger.free_dependents([run.run_id])

    assert {each.job_id for each in settled} == {job.job_id for job in chain}
    assert _states(conn) == {RunState.FAILED: 1, RunState.SKIPPED: LONG}
    assert max(counted.transactions) <= STATEMENTS
    assert len(counted.transactions) <= 4


def test_the_rest_of_a_chain_is_found_after_a_cut_between_two_transactions(
    ledger: PostgresLedger, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dependents, "_PAGE", 10)
    root, _ = _failed_chain(ledger, 50)
    [run] = ledger.runs(root.tenant, root.job_id)
    with monkeypatch.context() as cut:
        cut.setattr(dependents, "judge_in_pages", _lights_out)
        with pytest.raises(LedgerUnavailable):
            ledger.free_dependents([run.run_id])
    assert _states(conn)[RunState.BLOCKED] > 0

    ledger.settle_overdue()

    assert _states(conn) == {RunState.FAILED: 1, RunState.SKIPPED: 50}


def _lights_out(*_: object) -> None:
    raise LedgerUnavailable("the lights went out")


def test_a_graph_of_ten_thousand_is_submitted_whole(ledger: PostgresLedger, conn: Conn) -> None:
    fire, tenant = utc_now(), str(uuid4())
    jobs = [once(fire, tenant=tenant)]
    while len(jobs) < MANY:
        ups = {len(jobs) - 1, len(jobs) // 2}
        jobs.append(after(*(jobs[up] for up in sorted(ups)), tenant=tenant))
    first, *rest = jobs

    accepted = ledger.submit([Submission(first, first_fire=fire), *map(Submission, rest)])

    assert accepted.created == {job.job_id for job in jobs}
    assert _states(conn) == {RunState.SCHEDULED: 1, RunState.BLOCKED: MANY - 1}


def test_a_fan_in_of_a_thousand_is_submitted_whole(ledger: PostgresLedger, conn: Conn) -> None:
    fire = utc_now()
    ups = [once(fire) for _ in range(LONG)]
    last = after(*ups)

    ledger.submit([*(Submission(up, first_fire=fire) for up in ups), Submission(last)])

    assert _states(conn) == {RunState.SCHEDULED: LONG, RunState.BLOCKED: 1}
    [(edges,)] = conn.execute("SELECT count(*) FROM job_dependencies").fetchall()
    assert edges == LONG
