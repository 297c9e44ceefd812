"""A ledger that counts the statements of each of its transactions."""

from typing import Any, NamedTuple

from psycopg import Cursor

from lamplighter.adapters.postgres.database import Row
from lamplighter.adapters.postgres.ledger import PostgresLedger
from tests.adapters.postgres.watched import WatchedDatabase


class _CountingCursor(Cursor[Row]):
    """A transaction of the ledger has one cursor."""

    transactions: list[int]
    _number: int | None = None

    def execute(self, query: Any, params: Any = None, **options: Any) -> "_CountingCursor":
        if self._number is None:
            self._number = len(self.transactions)
            self.transactions.append(0)
        self.transactions[self._number] += 1
        return super().execute(query, params, **options)


class CountingLedger(PostgresLedger):
    """`transactions` grows by one for each, and holds how many statements it had."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.transactions: list[int] = []
        cursor = type("CountingCursor", (_CountingCursor,), {"transactions": self.transactions})
        self._db = WatchedDatabase(url, cursor)


class Counted(NamedTuple):
    ledger: CountingLedger
    transactions: list[int]
