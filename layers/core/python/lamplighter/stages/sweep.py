"""Sweep: whatever nobody else would notice, looked at every few seconds."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from lamplighter.contracts.messages import WorkerEvent, WorkerEventType, encode
from lamplighter.contracts.topics import WORKER_EVENTS
from lamplighter.domain.run import Settled
from lamplighter.ports.bus import Bus, Message
from lamplighter.ports.ledger import Ledger, SilentWorker

SILENCE: Final = timedelta(seconds=15)
# A worker that is heard of no more is told of after this, and struck off the list.
LONG_SILENCE: Final = timedelta(seconds=30)
_DAYS_BACK: Final = timedelta(days=1)


class Continuity:
    """For how long the ledger has been there without a break, as far as is known here.

    Silence of a worker counts from the moment at which the ledger was back, at the earliest: while
    it is away nobody can say that it lives, and an outage of the database must kill nobody.
    """

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self._steady = steady
        self._since = float("-inf")
        self._is_away = False

    def broke(self) -> None:
        self._is_away = True

    def answered(self) -> None:
        if self._is_away:
            self.begins_now()

    def begins_now(self) -> None:
        """Nothing is known of what was before."""
        self._since, self._is_away = self._steady(), False

    def lasts(self, time_span: timedelta) -> bool:
        return not self._is_away and self._steady() - self._since >= time_span.total_seconds()


def may_go_on(settled: Sequence[Settled]) -> bool:
    """Whether one of these has a wake-up call: then the leader should look."""
    return any(each.wake_at is not None for each in settled)


def strike_off(ledger: Ledger, bus: Bus, silence: timedelta = LONG_SILENCE) -> int:
    """Forget workers that are not heard of any more, and tell of it. How many.

    Truth first, news second: with the bus away, nobody is told, and nothing depends on it.
    """
    silent = ledger.forget_workers(silence)
    if silent:
        bus.publish(_news(silent, ledger.now()))
    return len(silent)


def _news(silent: Sequence[SilentWorker], now: datetime) -> list[Message]:
    return [
        Message(
            WORKER_EVENTS.name,
            encode(WorkerEvent(WorkerEventType.LOST, worker.worker_id, worker.pool, now)),
            worker.worker_id.encode(),
        )
        for worker in silent
    ]


def tend(ledger: Ledger, *, retention: timedelta, days_ahead: timedelta) -> list[str]:
    """The ledger's days: made ahead, and retired in time. Once an hour will do."""
    now = ledger.now()
    ledger.ensure_partitions(now - _DAYS_BACK, now + days_ahead)
    gone = ledger.drop_partitions(now - retention)
    ledger.forget_before(now - retention)
    return gone
