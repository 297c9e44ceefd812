"""A ledger that counts the statements of each of its transactions."""

from typing import Any, NamedTuple

from psycopg import Cursor
from psycopg_pool import ConnectionPool

from lamplighter.adapters.postgres.database import Bounds, Database, Row, _configure
from lamplighter.adapters.postgres.ledger import PostgresLedger


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
        self._db = _CountingDatabase(url, self.transactions)


class Counted(NamedTuple):
    ledger: CountingLedger
    transactions: list[int]


class _CountingDatabase(Database):
    def __init__(self, url: str, transactions: list[int]) -> None:
        super().__init__(url)
        cursor = type("CountingCursor", (_CountingCursor,), {"transactions": transactions})
        options = Bounds().as_options()
        self._pool = ConnectionPool(
            url,
            kwargs={"options": options, "autocommit": True, "cursor_factory": cursor},
            configure=_configure,
            min_size=0,
            max_size=1,
            open=False,
        )
