"""Leases: the right to lead, one holder at a time, with an epoch that only rises."""

from datetime import timedelta

import msgspec

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.ledger import Lease


class MemoryLeases(Transactional):
    def lease(self, name: str) -> Lease | None:
        with self._transaction() as books:
            return books.leases.get(name)

    def acquire_lease(self, name: str, holder: str, ttl: timedelta) -> Lease | None:
        with self._transaction() as books:
            now, last = books.now, books.leases.get(name)
            epoch = last.epoch + 1 if last else 1
            if last is not None and last.expires_at > now:
                if last.holder != holder:
                    return None
                epoch = last.epoch
            books.leases[name] = Lease(name, holder, epoch, now + ttl)
            return books.leases[name]

    def renew_lease(self, lease: Lease, ttl: timedelta) -> Lease:
        with self._transaction() as books:
            check_lease(books, lease)
            renewed = msgspec.structs.replace(lease, expires_at=books.now + ttl)
            books.leases[lease.name] = renewed
            return renewed

    def release_lease(self, lease: Lease) -> None:
        with self._transaction() as books:
            if _is_current(books, lease):
                # The row stays: the next holder's epoch must be higher than this one.
                given_up = msgspec.structs.replace(lease, expires_at=books.now)
                books.leases[lease.name] = given_up


def check_lease(books: Books, lease: Lease) -> None:
    """One that has run out is over, though nobody has taken it yet."""
    if not _is_current(books, lease):
        raise LeaseLost(f"{lease.name}: epoch {lease.epoch} of {lease.holder} is over")


def _is_current(books: Books, lease: Lease) -> bool:
    last = books.leases.get(lease.name)
    if last is None or last.expires_at <= books.now:
        return False
    return (last.holder, last.epoch) == (lease.holder, lease.epoch)
