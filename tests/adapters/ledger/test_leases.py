"""Leases: one leader at a time, and an epoch that tells the old one from the new."""

from datetime import UTC, datetime, timedelta

import pytest

from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.ledger import Leases
from tests.adapters.ledger.play import A_MINUTE
from tests.adapters.ledger.stores import KINDS, OLDEST

ALREADY_OVER = timedelta(seconds=-1)
on_every_version = pytest.mark.parametrize("leases", [*KINDS, "valkey", OLDEST], indirect=True)


@on_every_version
def test_a_free_lease_is_given_and_a_held_one_is_not(leases: Leases) -> None:
    lease = leases.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    assert (lease.name, lease.holder, lease.epoch) == ("watcher", "one", 1)
    remaining = lease.expires_at - datetime.now(UTC)
    assert timedelta(seconds=50) < remaining <= A_MINUTE
    assert leases.acquire_lease("watcher", "two", A_MINUTE) is None


def test_leases_with_other_names_have_other_holders(leases: Leases) -> None:
    assert leases.acquire_lease("watcher", "one", A_MINUTE) is not None
    assert leases.acquire_lease("upkeep", "two", A_MINUTE) is not None


def test_asking_again_for_what_one_holds_is_no_new_epoch(leases: Leases) -> None:
    first = leases.acquire_lease("watcher", "one", A_MINUTE)
    again = leases.acquire_lease("watcher", "one", 2 * A_MINUTE)
    assert first is not None
    assert again is not None
    assert again.epoch == first.epoch
    assert again.expires_at > first.expires_at


@on_every_version
def test_an_expired_lease_goes_to_the_next_with_a_higher_epoch(leases: Leases) -> None:
    old = leases.acquire_lease("watcher", "one", ALREADY_OVER)
    new = leases.acquire_lease("watcher", "two", A_MINUTE)
    assert old is not None
    assert new is not None
    assert (new.holder, new.epoch) == ("two", old.epoch + 1)
    with pytest.raises(LeaseLost):
        leases.renew_lease(old, A_MINUTE)


def test_a_lease_is_renewed_under_the_same_epoch(leases: Leases) -> None:
    lease = leases.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    renewed = leases.renew_lease(lease, 2 * A_MINUTE)
    assert (renewed.holder, renewed.epoch) == (lease.holder, lease.epoch)
    assert renewed.expires_at > lease.expires_at
    again = leases.renew_lease(lease, 3 * A_MINUTE)
    assert again.expires_at > renewed.expires_at


def test_a_lease_that_ran_out_is_over_though_nobody_took_it(leases: Leases) -> None:
    lease = leases.acquire_lease("watcher", "one", ALREADY_OVER)
    assert lease is not None
    with pytest.raises(LeaseLost):
        leases.renew_lease(lease, A_MINUTE)
    again = leases.acquire_lease("watcher", "one", A_MINUTE)
    assert again is not None
    assert again.epoch == lease.epoch + 1


def test_a_lease_that_was_given_up_is_free_at_once(leases: Leases) -> None:
    lease = leases.acquire_lease("watcher", "one", A_MINUTE)
    assert lease is not None
    leases.release_lease(lease)
    leases.release_lease(lease)
    with pytest.raises(LeaseLost):
        leases.renew_lease(lease, A_MINUTE)
    new = leases.acquire_lease("watcher", "two", A_MINUTE)
    assert new is not None
    assert new.epoch == lease.epoch + 1


def test_nobody_gives_up_what_another_holds(leases: Leases) -> None:
    old = leases.acquire_lease("watcher", "one", ALREADY_OVER)
    new = leases.acquire_lease("watcher", "two", A_MINUTE)
    assert old is not None
    assert new is not None
    leases.release_lease(old)
    assert leases.acquire_lease("watcher", "three", A_MINUTE) is None
    assert leases.renew_lease(new, A_MINUTE).epoch == new.epoch


def test_a_lease_is_seen_as_it_stands(leases: Leases) -> None:
    assert leases.lease("watcher") is None
    held = leases.acquire_lease("watcher", "one", A_MINUTE)
    assert held is not None
    assert leases.lease("watcher") == held
    leases.release_lease(held)
    given_up = leases.lease("watcher")
    assert given_up is not None
    assert given_up.epoch == held.epoch
    assert given_up.expires_at <= datetime.now(UTC)
