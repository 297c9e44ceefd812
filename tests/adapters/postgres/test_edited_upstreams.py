"""Editing a job costs as many statements as it did, however many wait for it."""

from collections.abc import Iterator

import msgspec
import pytest

from lamplighter.domain.run import Submission
from tests.adapters.postgres.counting import Counted, CountingLedger
from tests.adapters.postgres.making import HOUR, after, submit_once, utc_now


@pytest.fixture
def counted(url: str) -> Iterator[Counted]:
    ledger = CountingLedger(url)
    yield Counted(ledger, ledger.transactions)
    ledger.close()


def _edit(counted: Counted, dependents: int) -> int:
    """Postpone a job that so many wait for; answers with the statements that it took."""
    soon = utc_now() + HOUR
    job, _ = submit_once(counted.ledger, soon)
    waiting = [after(job) for _ in range(dependents)]
    counted.ledger.submit([Submission(each) for each in waiting])
    counted.transactions.clear()
    edited = msgspec.structs.replace(job, name="edited")
    counted.ledger.reschedule(edited, expected_version=1, first_fire=soon + HOUR, next_fire=None)
    statements = sum(counted.transactions)
    for each in waiting:
        [run] = counted.ledger.runs(each.tenant, each.job_id)
        assert run.fire_at == soon + HOUR
    return statements


def test_an_edit_takes_as_many_statements_for_fifty_dependents_as_for_five(
    counted: Counted,
) -> None:
    assert _edit(counted, 5) == _edit(counted, 50)
