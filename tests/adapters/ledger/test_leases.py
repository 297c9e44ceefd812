"""Leases: one leader at a time, and an epoch that tells the old one from the new."""

from datetime import timedelta

import pytest

from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.play import A_MINUTE, Play
from tests.adapters.ledger.stores import on_every_version

ALREADY_OVER = timedelta(seconds=-1)


@on_every_version
def test_a_free_lease_is_given_and_a_held_one_is_not(play: Play) -> None:
    lease = play.ledger.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    assert (lease.name, lease.holder, lease.epoch) == ("watcher", "one", 1)
    remaining = lease.expires_at - play.ledger.now()
    assert timedelta(seconds=50) < remaining <= A_MINUTE
    assert play.ledger.acquire_lease("watcher", "two", A_MINUTE) is None


def test_leases_with_other_names_have_other_holders(ledger: Ledger) -> None:
    assert ledger.acquire_lease("watcher", "one", A_MINUTE) is not None
    assert ledger.acquire_lease("upkeep", "two", A_MINUTE) is not None


def test_asking_again_for_what_one_holds_is_no_new_epoch(ledger: Ledger) -> None:
    first = ledger.acquire_lease("watcher", "one", A_MINUTE)
    again = ledger.acquire_lease("watcher", "one", 2 * A_MINUTE)
    assert first is not None
    assert again is not None
    assert again.epoch == first.epoch
    assert again.expires_at > first.expires_at


@on_every_version
def test_an_expired_lease_goes_to_the_next_with_a_higher_epoch(ledger: Ledger) -> None:
    old = ledger.acquire_lease("watcher", "one", ALREADY_OVER)
    new = ledger.acquire_lease("watcher", "two", A_MINUTE)
    assert old is not None
    assert new is not None
    assert (new.holder, new.epoch) == ("two", old.epoch + 1)
    with pytest.raises(LeaseLost):
        ledger.renew_lease(old, A_MINUTE)


def test_a_lease_is_renewed_under_the_same_epoch(ledger: Ledger) -> None:
    lease = ledger.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    renewed = ledger.renew_lease(lease, 2 * A_MINUTE)
    assert (renewed.holder, renewed.epoch) == (lease.holder, lease.epoch)
    assert renewed.expires_at > lease.expires_at
    again = ledger.renew_lease(lease, 3 * A_MINUTE)
    assert again.expires_at > renewed.expires_at


def test_a_lease_that_ran_out_is_over_though_nobody_took_it(ledger: Ledger) -> None:
    lease = ledger.acquire_lease("watcher", "one", ALREADY_OVER)
    assert lease is not None
    with pytest.raises(LeaseLost):
        ledger.renew_lease(lease, A_MINUTE)
    again = ledger.acquire_lease("watcher", "one", A_MINUTE)
    assert again is not None
    assert again.epoch == lease.epoch + 1


def test_a_lease_that_was_given_up_is_free_at_once(ledger: Ledger) -> None:
    lease = ledger.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    ledger.release_lease(lease)
    ledger.release_lease(lease)
    with pytest.raises(LeaseLost):
        ledger.renew_lease(lease, A_MINUTE)
    new = ledger.acquire_lease("watcher", "two", A_MINUTE)
    assert new is not None
    assert new.epoch == lease.epoch + 1


def test_nobody_gives_up_what_another_holds(ledger: Ledger) -> None:
    old = ledger.acquire_lease("watcher", "one", ALREADY_OVER)
    new = ledger.acquire_lease("watcher", "two", A_MINUTE)
    assert old is not None
    assert new is not None
    ledger.release_lease(old)
    assert ledger.acquire_lease("watcher", "three", A_MINUTE) is None
    assert ledger.renew_lease(new, A_MINUTE).epoch == new.epoch


def test_a_lease_is_seen_as_it_stands(ledger: Ledger) -> None:
    assert ledger.lease("watcher") is None
    held = ledger.acquire_lease("watcher", "one", A_MINUTE)
    assert held is not None
    assert ledger.lease("watcher") == held
    ledger.release_lease(held)
    given_up = ledger.lease("watcher")
    assert given_up is not None
    assert given_up.epoch == held.epoch
    assert given_up.expires_at <= ledger.now()
