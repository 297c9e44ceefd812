"""Sweep: whatever nobody else would notice, looked at every few seconds."""

from datetime import timedelta

import msgspec

from lamplighter.ports.ledger import Ledger

# Silence counts from the latest of heartbeat and claim; the watcher waits as long again after it
# has found the ledger back, so that an outage of the database kills nobody.
SILENCE = timedelta(seconds=15)
_DAYS_BACK, _DAYS_AHEAD = timedelta(days=1), timedelta(days=7)


class Swept(msgspec.Struct, frozen=True):
    lost: int
    overdue: int


def sweep(ledger: Ledger, silence: timedelta = SILENCE) -> Swept:
    """Runs of silent workers go back to the queue; what has waited too long ends."""
    return Swept(len(ledger.requeue_lost(silence)), len(ledger.settle_overdue()))


def tend(ledger: Ledger, *, retention: timedelta, days_ahead: timedelta = _DAYS_AHEAD) -> list[str]:
    """The ledger's days: made ahead, and retired in time. Once an hour will do."""
    now = ledger.now()
    ledger.ensure_partitions(now - _DAYS_BACK, now + days_ahead)
    return ledger.drop_partitions(now - retention)
