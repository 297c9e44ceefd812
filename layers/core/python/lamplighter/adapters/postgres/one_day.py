"""A statement over runs, on the table of their day.

Of the whole ledger, PostgreSQL asks every id for its partition before it begins: a tenth of a
claim. Nearly all batches are of one day, and then its table can be named.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from psycopg.errors import UndefinedTable

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.partitions import day_of, name_of
from lamplighter.domain.ids import fire_of

_LEDGER: Final = b"UPDATE job_runs AS r"


def update_runs(
    database: Database, query: bytes, ordered: Sequence[UUID], params: dict[str, Any]
) -> list[Row]:
    """`query` updates these runs, which are in the order of their ids."""
    table = _table_of(ordered)
    if table is not None:
        with suppress(UndefinedTable):  # the day was never made, or has been retired
            return database.statement(_on(table, query), params)
    return database.statement(query, params)


def _table_of(ordered: Sequence[UUID]) -> str | None:
    """The one that holds them all."""
    try:
        days = {day_of(fire_of(run_id)) for run_id in (*ordered[:1], *ordered[-1:])}
    except OverflowError:  # no calendar reaches that far, and no run is there
        return None
    return name_of(days.pop()) if len(days) == 1 else None


@lru_cache(maxsize=64)
def _on(table: str, query: bytes) -> bytes:
    if query.count(_LEDGER) != 1:
        raise ValueError(f"the statement does not say {_LEDGER.decode()} once")
    return query.replace(_LEDGER, b"UPDATE %s AS r" % table.encode())
