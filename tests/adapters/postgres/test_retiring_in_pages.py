"""Jobs leave with their day a page to a transaction, however many; any page may be the last."""

from functools import partial
from uuid import UUID

import pytest

from lamplighter.adapters.postgres import leaving, retiring
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.job import Job
from lamplighter.domain.run import Submission, Ticket
from tests.adapters.postgres.days import Conn, attached, day_table, day_tables
from tests.adapters.postgres.making import (
    DAY,
    after,
    claim_one,
    once,
    run_now,
    submit_once,
    success,
    utc_now,
)

JOBS = 10


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (leaving, retiring):
        monkeypatch.setattr(module, "PAGE", 3)


def _succeed(ledger: PostgresLedger, *tickets: Ticket) -> None:
    for ticket in tickets:
        ledger.finish([success(ticket.run_id, claim_one(ledger, ticket, "worker"))])


def _jobs(conn: Conn) -> set[UUID]:
    return {row[0] for row in conn.execute("SELECT job_id FROM jobs")}


def _chain(ledger: PostgresLedger, length: int) -> list[Job]:
    """Of yesterday, each done; the order of its runs in the ledger is any."""
    fire = utc_now() - DAY
    chain = [once(fire)]
    while len(chain) < length:
        chain.append(after(chain[-1]))
    first, *rest = chain
    ledger.submit([Submission(first, first_fire=fire), *map(Submission, rest)])
    for job in chain:
        [run] = ledger.runs(job.tenant, job.job_id)
        _succeed(ledger, Ticket(run.run_id, run.fence))
        ledger.free_dependents([run.run_id])
    return chain


def test_every_page_leaves(ledger: PostgresLedger, conn: Conn) -> None:
    yesterday = utc_now() - DAY
    _succeed(ledger, *(submit_once(ledger, yesterday)[1] for _ in range(JOBS)))

    assert ledger.drop_partitions(utc_now()) == [day_table(yesterday)]

    assert _jobs(conn) == set()
    assert conn.execute("SELECT FROM run_attempts").fetchall() == []


def test_a_graph_that_is_spread_over_pages_leaves_whole(ledger: PostgresLedger, conn: Conn) -> None:
    _chain(ledger, JOBS)
    ledger.drop_partitions(utc_now())
    assert _jobs(conn) == set()


def test_an_upstream_leaves_with_the_last_that_waited_for_it(
    ledger: PostgresLedger, conn: Conn
) -> None:
    chain = _chain(ledger, 3)
    last = run_now(ledger, chain[-1])
    ledger.drop_partitions(utc_now())
    assert _jobs(conn) == {job.job_id for job in chain}

    _succeed(ledger, last)
    ledger.drop_partitions(utc_now() + DAY)

    assert _jobs(conn) == set()


def test_what_was_cut_off_between_two_pages_is_finished_by_the_next(
    ledger: PostgresLedger, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    yesterday = utc_now() - DAY
    _succeed(ledger, *(submit_once(ledger, yesterday)[1] for _ in range(JOBS)))
    monkeypatch.setattr(retiring, "forget_jobs", partial(_only_one_page, []))
    with pytest.raises(LedgerUnavailable):
        ledger.drop_partitions(utc_now())
    monkeypatch.undo()
    # Nobody sees a run whose job is gone: the day has left the ledger.
    assert day_table(yesterday) not in attached(conn)
    assert len(_jobs(conn)) == JOBS - 3

    assert ledger.drop_partitions(utc_now()) == [day_table(yesterday)]

    assert _jobs(conn) == set()
    assert day_tables(conn) == attached(conn)
    assert conn.execute("SELECT FROM pg_class WHERE relname ~ '^retired'").fetchall() == []


def _only_one_page(done: list[bool], *page: object) -> None:
    if done:
        raise LedgerUnavailable("the lights went out")
    done.append(True)
    leaving.forget_jobs(*page)  # type: ignore[arg-type]
