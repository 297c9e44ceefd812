"""One clock: the ledger's, read now and then, carried on by this process's steady one."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from lamplighter.domain.ids import EPOCH


class LedgerClock:
    """Asking the ledger for every instant would cost a round trip each; its offset drifts slowly.

    The answer belongs to the middle of the round trip that brought it.
    """

    def __init__(
        self,
        read: Callable[[], datetime],
        *,
        every: timedelta = timedelta(seconds=10),
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._every = every.total_seconds()
        self._steady = steady
        self._read_at: float | None = None
        self._zero = EPOCH

    def now(self) -> datetime:
        steady = self._steady()
        if self._read_at is None or steady - self._read_at >= self._every:
            self._measure()
            steady = self._steady()
        return self._zero + timedelta(seconds=steady)

    def _measure(self) -> None:
        before = self._steady()
        instant = self._read()
        after = self._steady()
        self._zero = instant - timedelta(seconds=(before + after) / 2)
        self._read_at = after
