"""One clock: the ledger's, read now and then, carried on by this process's steady one."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from lamplighter.domain.errors import LedgerUnavailable


def this_machine() -> datetime:
    """The second best clock there is."""
    return datetime.now(UTC)


class LedgerClock:
    """Asking the ledger for every instant would cost a round trip each; its offset drifts slowly.

    The answer belongs to the middle of the round trip that brought it. A ledger that is away is
    asked again a second later; until it answers, the last offset holds. Where there is none yet,
    `otherwise` says what time it is, and without that nobody does.
    """

    def __init__(  # noqa: PLR0913 - each knob by its name
        self,
        read: Callable[[], datetime],
        *,
        every: timedelta = timedelta(seconds=10),
        again: timedelta = timedelta(seconds=1),
        steady: Callable[[], float] = time.monotonic,
        otherwise: Callable[[], datetime] | None = None,
        slow: timedelta = timedelta.max,
    ) -> None:
        """An answer that was slower than `slow` had to connect first: it is asked for once more."""
        self._read = read
        self._every = every.total_seconds()
        self._again = again.total_seconds()
        self._steady = steady
        self._otherwise = otherwise
        self._slow = slow.total_seconds()
        self._read_next = float("-inf")
        self._zero: datetime | None = None

    def now(self) -> datetime:
        if self._steady() >= self._read_next:
            self._measure()
        if self._zero is not None:
            return self._zero + timedelta(seconds=self._steady())
        if self._otherwise is None:
            raise LedgerUnavailable("its clock was never read, and there is no other to go by")
        return self._otherwise()

    def _measure(self) -> None:
        try:
            instant, before, after = self._timed()
            if after - before > self._slow:
                instant, before, after = self._timed()
        except LedgerUnavailable:
            if self._zero is None and self._otherwise is None:
                raise
            self._read_next = self._steady() + self._again
            return
        self._zero = instant - timedelta(seconds=(before + after) / 2)
        self._read_next = after + self._every

    def _timed(self) -> tuple[datetime, float, float]:
        before = self._steady()
        return self._read(), before, self._steady()
