"""Watch: stand by until the lease can be had, lead while it is held, and hand it on."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from lamplighter.domain.errors import LamplighterError, LeaseLost, LedgerUnavailable
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Lease, Ledger
from lamplighter.ports.queue import Queue, StaleEpoch
from lamplighter.stages.capacity import Window
from lamplighter.stages.clock import LedgerClock
from lamplighter.stages.duties import Report, Rhythm
from lamplighter.stages.lead import LEASE_TTL, SHORTEST_SLEEP, Term
from lamplighter.stages.news import Announcer
from lamplighter.stages.post import Post, Sleeper, bus_outage
from lamplighter.stages.record import Recorder
from lamplighter.stages.standing import Gauge
from lamplighter.stages.sweep import Continuity

if TYPE_CHECKING:
    from lamplighter.stages.trace import Tracer

__all__ = ["LEASE", "LEASE_TTL", "Report", "Rhythm", "Watcher"]

LEASE: Final = "watcher"
_LEDGER_PAUSE: Final = 0.5
# A lease that ran out longer ago than it takes a standby to notice: nobody led, and perhaps nobody
# could, because the ledger was away.
_GAP: Final = timedelta(seconds=3)


class Watcher:
    def __init__(  # noqa: PLR0913 - three ports, and each knob by its name
        self,
        ledger: Ledger,
        queue: Queue,
        bus: Bus,
        *,
        holder: str,
        window: Window,
        rhythm: Rhythm | None = None,
        retention: timedelta = timedelta(days=30),
        days_ahead: timedelta = timedelta(days=7),
        steady: Callable[[], float] = time.monotonic,
        gauge: Gauge | None = None,
        tracer: "Tracer | None" = None,
        recorder: Recorder | None = None,
        report: Report | None = None,
        on_renewal: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_renewal` is called by a leader, between two turns, when it has renewed its lease.

        `recorder` follows up here what a sweep has ended, while the bus is away.
        """
        self._stopped = threading.Event()
        self._end = float("-inf")
        self._looked_at = float("-inf")
        report = report or Report(holder)
        sleeper = Sleeper(queue, report.note)
        self._post = Post(
            ledger=ledger,
            queue=queue,
            bus=bus,
            window=window,
            clock=LedgerClock(ledger.now, steady=steady),
            steady=steady,
            left=self._left,
            rhythm=rhythm or Rhythm(),
            retention=retention,
            days_ahead=days_ahead,
            report=report,
            continuity=Continuity(steady),
            sleeper=sleeper,
            bus_outage=bus_outage(bus, sleeper),
            announce=Announcer(bus.publish),
            recorder=recorder or Recorder(ledger, bus),
            gauge=gauge,
            tracer=tracer,
            on_renewal=on_renewal,
        )

    def stop(self) -> None:
        """From any thread: hand the lease on and return, within a turn of the loop."""
        self._stopped.set()
        self._post.sleeper.wake()

    def _left(self) -> float:
        return 0.0 if self._stopped.is_set() else max(0.0, self._end - self._post.steady())

    def watch(self, seconds: float) -> Report:
        """Lead whenever the lease can be had, until the time is over; then hand it on."""
        self._end = self._post.steady() + seconds
        while self._left() > 0:
            try:
                self._stand_by_or_lead()
            except LedgerUnavailable as error:
                self._post.report.note(error)
                self._post.continuity.broke()
                self._stopped.wait(min(_LEDGER_PAUSE, self._left()))
        self._post.sleeper.outage.close()
        self._post.bus_outage.close()
        return self._post.report

    def _stand_by_or_lead(self) -> None:
        post = self._post
        self._looked_at = post.steady()
        known = post.ledger.lease(LEASE)
        post.continuity.answered()
        if known is not None and known.holder != post.report.holder:
            held_for = (known.expires_at - post.clock.now()).total_seconds()
            if held_for > 0:
                self._stand_by(held_for)
                return
        lease = post.ledger.acquire_lease(LEASE, post.report.holder, LEASE_TTL)
        if lease is None:
            self._stand_by(SHORTEST_SLEEP)
            return
        if known is None or known.expires_at < post.clock.now() - _GAP:
            post.continuity.begins_now()
        self._lead(lease)

    def _stand_by(self, seconds: float) -> None:
        """Until the lease runs out, which it does only where nobody renews it, or is given up.

        Whoever gives it up calls; but so does every submission that is due first of all.
        """
        longest = min(seconds, LEASE_TTL.total_seconds(), self._left())
        if self._post.sleeper.sleep(longest):
            rest = self._looked_at + SHORTEST_SLEEP - self._post.steady()
            self._stopped.wait(max(0.0, rest))

    def _lead(self, lease: Lease) -> None:
        post, began = self._post, self._post.steady()
        post.report.led_epochs.append(lease.epoch)
        if post.gauge is not None:
            post.gauge.leads()
        term = Term(post, lease)
        try:
            term.serve()
        except (LeaseLost, StaleEpoch) as error:  # somebody else leads, and has all this one had
            post.report.note(error)
        finally:
            post.report.seconds_led += post.steady() - began
            term.hand_on()
            with suppress(LedgerUnavailable):
                post.ledger.release_lease(lease)
            post.sleeper.wake()
            term.close()
        self._look_once_more()

    def _look_once_more(self) -> None:
        """Perhaps nobody leads for a while: what was told last has to be how it was left.

        The lease is given up by then: whoever waits for it does not wait for this.
        """
        if self._post.gauge is not None:
            with suppress(LamplighterError):
                self._post.gauge.look(self._post.clock.now())
