"""Leases: who leads, for how long, under which epoch."""

from datetime import timedelta

from psycopg import Cursor

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.ledger import Lease

_SQL = queries("leases")
_HORIZON = queries("horizon")


class PostgresLeases:
    _db: Database

    def lease(self, name: str) -> Lease | None:
        rows = self._db.statement(_SQL["lease"], {"name": name})
        return Lease(*rows[0]) if rows else None

    def acquire_lease(self, name: str, holder: str, ttl: timedelta) -> Lease | None:
        params = {"name": name, "holder": holder, "ttl": ttl}
        rows = self._db.statement(_SQL["acquire"], params)
        return Lease(*rows[0]) if rows else None

    def renew_lease(self, lease: Lease, ttl: timedelta) -> Lease:
        rows = self._db.statement(_SQL["renew"], {**_of(lease), "ttl": ttl})
        if not rows:
            raise LeaseLost(f"lease {lease.name!r} is no longer {lease.holder!r}'s")
        return Lease(*rows[0])

    def release_lease(self, lease: Lease) -> None:
        self._db.statement(_SQL["release"], _of(lease))


def hold_lease(cursor: Cursor[Row], lease: Lease) -> None:
    """Nobody takes the lease over until this transaction ends; LeaseLost if somebody has."""
    if not cursor.execute(_HORIZON["hold_lease"], _of(lease)).fetchall():
        raise LeaseLost(f"lease {lease.name!r} is no longer {lease.holder!r}'s")


def _of(lease: Lease) -> dict[str, str | int]:
    return {"name": lease.name, "holder": lease.holder, "epoch": lease.epoch}
