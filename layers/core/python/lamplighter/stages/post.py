"""Post: what every term of a watcher works with."""

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from lamplighter.contracts.messages import JobEvent
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Queue, QueueUnavailable
from lamplighter.stages.capacity import Window, probe
from lamplighter.stages.clock import LedgerClock
from lamplighter.stages.duties import Report, Rhythm
from lamplighter.stages.outage import Outage
from lamplighter.stages.record import Recorder
from lamplighter.stages.standing import Gauge
from lamplighter.stages.sweep import Continuity

if TYPE_CHECKING:
    from lamplighter.stages.trace import Tracer

# Without the queue's channel nobody says that there is something to do.
UNCALLED_SECONDS: Final = 0.25


class Sleeper:
    """Sleeps on the queue's channel, where submissions call; while that is away, on its own."""

    def __init__(self, queue: Queue, note: Callable[[Exception], None]) -> None:
        self._queue = queue
        self._note = note
        self._called = threading.Event()
        self.outage = Outage(queue.next_due, self._called.set)

    def sleep(self, seconds: float) -> bool:
        """Whether somebody called. An outage that is noticed by this is a call as well."""
        if not self.outage.lasts:
            try:
                return self._queue.sleep(seconds)
            except QueueUnavailable as error:
                self.lost_queue(error)
                return True
        called = self._called.wait(min(seconds, UNCALLED_SECONDS))
        self._called.clear()
        return called

    def wake(self) -> None:
        """Whoever sleeps, here or in another watcher."""
        self._called.set()
        if not self.outage.lasts:
            try:
                self._queue.wake()
            except QueueUnavailable as error:
                self.lost_queue(error)

    def lost_queue(self, error: QueueUnavailable) -> None:
        self._note(error)
        self.outage.begin()


class Post(msgspec.Struct, frozen=True):
    ledger: Ledger
    queue: Queue
    bus: Bus
    window: Window
    clock: LedgerClock
    steady: Callable[[], float]
    left: Callable[[], float]  # seconds until the watcher's time is over
    rhythm: Rhythm
    retention: timedelta
    days_ahead: timedelta
    report: Report
    continuity: Continuity
    sleeper: Sleeper
    bus_outage: Outage
    announce: Callable[[Sequence[JobEvent]], None]
    recorder: Recorder
    gauge: Gauge | None
    tracer: "Tracer | None"
    on_renewal: Callable[[], None]


def bus_outage(bus: Bus, sleeper: Sleeper) -> Outage:
    return Outage(lambda: probe(bus), sleeper.wake)
