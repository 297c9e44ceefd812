"""Bounds of the server for tests in which nothing may go wrong: they end one that hangs, no other.

As shipped, whoever holds a lock for three seconds fails those who wait for it; and a machine that
is busy with other things lets anybody hold one for as long as that.
"""

from typing import Final

from lamplighter.adapters.postgres.database import Bounds, Habits

PATIENT: Final = Bounds(statement=60_000, lock=30_000, idle_in_transaction=60_000)
SLOWLY: Final = Habits(connect_seconds=30)
