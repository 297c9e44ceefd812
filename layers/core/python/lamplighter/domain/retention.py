"""How long what history refers to must stay."""

from datetime import datetime, timedelta
from typing import Final

# A run is written days before its fire, by the version of its job that held then.
_WRITTEN_AHEAD: Final = timedelta(days=31)


def versions_until(before: datetime, oldest_day: datetime | None) -> datetime:
    """Versions of jobs that ended before this explain no run that is still in the ledger.

    The oldest day may be older than the retention: one with an open run stays.
    """
    return min(before, oldest_day or before) - _WRITTEN_AHEAD
