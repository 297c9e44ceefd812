"""The ledgers that the suite runs over, and how each is emptied between two tests."""

import psycopg
import pytest

from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from tests.adapters.postgres.patience import PATIENT, SLOWLY

KINDS = ("memory", "postgres")

# The heart of the contract is also proved on the oldest version that is promised.
OLDEST = pytest.param("postgres16", marks=pytest.mark.xdist_group("postgres16"))
on_every_version = pytest.mark.parametrize("ledger", [*KINDS, OLDEST], indirect=True)

# DELETE, because the tables are nearly empty: 1.6 ms here, where TRUNCATE of all the partitions
# with their indexes took 240 ms, and a fresh database from a template 570 ms.
_CHILDREN_FIRST = (
    "job_runs",
    "job_versions",
    "schedules",
    "run_attempts",
    "job_dependencies",
    "jobs",
    "workers",
    "claims",
    "cancellations",
    "slots",
    "slot_queue",
    "leases",
    "calendars",
    "idempotency_keys",
)
_EMPTY = "; ".join(f"DELETE FROM {table}" for table in _CHILDREN_FIRST)
_START_OVER = (
    "UPDATE ledger_bounds "
    "SET loaded_to = now() - interval '1 min', watermark = now() - interval '1 min', "
    "candidate = NULL, barrier = NULL"
)


class Store:
    """A migrated database of its own, with a ledger over it that lives as long as the session."""

    def __init__(self, server: Postgres) -> None:
        self.url = server.ensure_database("conformance")
        migrate(self.url)
        self.ledger = PostgresLedger(self.url, max_size=12, bounds=PATIENT, habits=SLOWLY)
        self._admin = psycopg.connect(self.url, autocommit=True)

    def emptied(self) -> PostgresLedger:
        self._admin.execute(f"{_EMPTY}; {_START_OVER}")
        return self.ledger

    def close(self) -> None:
        self.ledger.close()
        self._admin.close()
