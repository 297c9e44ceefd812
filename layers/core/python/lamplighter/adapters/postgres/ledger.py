"""The ledger on PostgreSQL, put together from its parts."""

from lamplighter.adapters.postgres.address import Address
from lamplighter.adapters.postgres.alone import Order
from lamplighter.adapters.postgres.calendars import PostgresCalendars
from lamplighter.adapters.postgres.changes import PostgresChanges
from lamplighter.adapters.postgres.claims import PostgresClaims
from lamplighter.adapters.postgres.database import Bounds, Database, Habits
from lamplighter.adapters.postgres.finish import PostgresOutcomes
from lamplighter.adapters.postgres.forgetting import PostgresForgetting
from lamplighter.adapters.postgres.horizon import PostgresHorizon
from lamplighter.adapters.postgres.idempotency import PostgresKeys
from lamplighter.adapters.postgres.leases import PostgresLeases
from lamplighter.adapters.postgres.overdue import PostgresOverdue
from lamplighter.adapters.postgres.partitions import PostgresUpkeep
from lamplighter.adapters.postgres.reads import PostgresReads
from lamplighter.adapters.postgres.retiring import PostgresRetiring
from lamplighter.adapters.postgres.rollups import PostgresRollups
from lamplighter.adapters.postgres.submit import PostgresSubmissions


class PostgresLedger(
    PostgresSubmissions,
    PostgresClaims,
    PostgresOverdue,
    PostgresOutcomes,
    PostgresChanges,
    PostgresHorizon,
    PostgresLeases,
    PostgresCalendars,
    PostgresKeys,
    PostgresUpkeep,
    PostgresRetiring,
    PostgresForgetting,
    PostgresRollups,
    PostgresReads,
):
    def __init__(
        self,
        url: Address,
        *,
        max_size: int = 8,
        bounds: Bounds | None = None,
        habits: Habits | None = None,
    ) -> None:
        self._db = Database(url, max_size=max_size, bounds=bounds, habits=habits)
        self._claim_order, self._finish_order = Order(), Order()

    def let_go(self) -> bool:
        """Close every connection, so that the server may rest. Whether anybody had used one."""
        return self._db.let_go()

    def close(self) -> None:
        self._db.close()
