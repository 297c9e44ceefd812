"""The clocks a ledger in memory can go by: the system's, or one that a test winds."""

from datetime import UTC, datetime, timedelta


def system_clock() -> datetime:
    return datetime.now(UTC)


class WoundClock:
    """Stands still until somebody winds it."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def __call__(self) -> datetime:
        return self._now

    def wind(self, by: timedelta) -> datetime:
        self._now += by
        return self._now
