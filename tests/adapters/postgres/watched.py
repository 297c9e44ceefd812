"""A database whose statements go through a cursor of the test's own."""

from psycopg import Cursor
from psycopg_pool import ConnectionPool

from lamplighter.adapters.postgres.database import Bounds, Database, Row, _configure


class WatchedDatabase(Database):
    """One connection, bounded like any other."""

    def __init__(self, url: str, cursor: type[Cursor[Row]]) -> None:
        super().__init__(url)
        options = Bounds().as_options()
        self._pool = ConnectionPool(
            url,
            kwargs={"options": options, "autocommit": True, "cursor_factory": cursor},
            configure=_configure,
            min_size=0,
            max_size=1,
            open=False,
        )
