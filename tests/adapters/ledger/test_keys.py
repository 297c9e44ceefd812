"""Idempotency-Keys of changes: the first use counts, and what was answered then."""

import pytest

from lamplighter.domain.errors import IdempotencyConflict
from lamplighter.ports.ledger import KeyUse, Ledger
from tests.adapters.ledger.builders import OTHER_TENANT, TENANT
from tests.adapters.ledger.play import at_once
from tests.adapters.ledger.stores import on_every_version

ROUTE = "PUT /jobs/1"


def _use(ledger: Ledger, fingerprint: bytes = b"1", key: str = "k", route: str = ROUTE) -> KeyUse:
    return ledger.use_key(TENANT, route, key, fingerprint)


@on_every_version
def test_a_key_is_told_its_first_use_and_the_answer(ledger: Ledger) -> None:
    answer = {"status": 200, "body": {"z": [1, None, "ä"], "a": {}}}
    before = ledger.now()
    first = _use(ledger)
    assert (first.answer, before <= first.used_at <= ledger.now()) == (None, True)
    assert _use(ledger) == first
    ledger.answer_key(TENANT, ROUTE, "k", b"1", answer)
    assert _use(ledger) == KeyUse(first.used_at, answer)
    assert list(_use(ledger).answer["body"]) == ["z", "a"]


def test_a_key_with_another_body_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    first = _use(ledger)
    with pytest.raises(IdempotencyConflict):
        _use(ledger, b"2")
    assert _use(ledger) == first


def test_keys_are_apart_by_tenant_and_route(ledger: Ledger) -> None:
    _use(ledger)
    _use(ledger, b"2", route="DELETE /jobs/1")
    _use(ledger, b"2", key="l")
    ledger.use_key(OTHER_TENANT, ROUTE, "k", b"2")


def test_a_key_of_which_nothing_came_is_free_again(ledger: Ledger) -> None:
    _use(ledger)
    ledger.forget_key(TENANT, ROUTE, "k")
    _use(ledger, b"2")


def test_an_answered_key_is_not_forgotten(ledger: Ledger) -> None:
    _use(ledger)
    ledger.answer_key(TENANT, ROUTE, "k", b"1", {"status": 200})
    ledger.forget_key(TENANT, ROUTE, "k")
    assert _use(ledger).answer == {"status": 200}


@on_every_version
def test_a_key_that_was_forgotten_meanwhile_is_answered_all_the_same(ledger: Ledger) -> None:
    _use(ledger)
    ledger.forget_key(TENANT, ROUTE, "k")
    ledger.answer_key(TENANT, ROUTE, "k", b"1", {"status": 200})
    assert _use(ledger).answer == {"status": 200}


def test_a_key_that_is_anothers_by_now_is_not_answered(ledger: Ledger) -> None:
    _use(ledger)
    ledger.forget_key(TENANT, ROUTE, "k")
    _use(ledger, b"2")
    ledger.answer_key(TENANT, ROUTE, "k", b"1", {"status": 200})
    assert _use(ledger, b"2").answer is None


def test_of_many_at_once_all_learn_of_the_same_first_use(ledger: Ledger) -> None:
    uses = at_once(lambda _: _use(ledger), range(8))
    assert len({each.used_at for each in uses}) == 1
