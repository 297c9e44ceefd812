"""The one place where adapters are built from settings: lazily, once per process."""

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, TypeVar

from lamplighter.settings import InvalidSettings, Settings, load
from lamplighter.stages.clock import LedgerClock
from lamplighter.stages.desk import Desk

if TYPE_CHECKING:
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger

T = TypeVar("T")

_building = threading.RLock()


def once(build: Callable[[], T]) -> Callable[[], T]:
    """Built when first asked for, by whichever thread asks first; a failure is tried again."""
    built = cache(build)

    @wraps(build)
    def get() -> T:
        with _building:
            return built()

    return get


@once
def settings() -> Settings:
    return load(os.environ)


@once
def ledger() -> "PostgresQueryLedger":
    # The driver takes longer to import than all the rest: only who reaches for it waits for it.
    from lamplighter.adapters.postgres.database import Bounds
    from lamplighter.adapters.postgres.listing import PostgresQueryLedger

    given = settings()
    if given.database_url is None:
        raise InvalidSettings("LAMPLIGHTER_DATABASE_URL is not set. Give the ledger's URL.")
    bounds = Bounds(
        given.statement_timeout_ms, given.lock_timeout_ms, given.idle_in_transaction_timeout_ms
    )
    return PostgresQueryLedger(given.database_url, max_size=given.pool_max_size, bounds=bounds)


@once
def desk() -> Desk:
    """What submit and query serve people with."""
    return Desk(ledger=ledger(), now=LedgerClock(ledger().now).now)
