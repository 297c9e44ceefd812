"""Report: how runs went, to the bus; where that is away, to the ledger itself."""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from lamplighter.contracts.bundles import job_event_messages
from lamplighter.contracts.messages import JobEvent, ended
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.domain.run import Outcome, Settled
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.news import tell_settled
from lamplighter.stages.record import Recorder

_log: Final = logging.getLogger("lamplighter.report")
_PAUSE_SECONDS: Final = 1.0

Ending = tuple[JobEvent, Outcome]  # how it was announced, and how it went


class Reporter:
    def __init__(
        self,
        ledger: Ledger,
        bus: Bus,
        *,
        now: Callable[[], datetime],
        recorder: Recorder | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`recorder` writes outcomes down here while the bus is away."""
        self._ledger, self._bus = ledger, bus
        self._recorder = recorder or Recorder(ledger, bus)
        self._now = now
        self._sleep = sleep

    def began(self, started: Sequence[JobEvent]) -> None:
        """News for readers: nothing depends on their arrival."""
        try:
            self._bus.publish(job_event_messages(started))
        except LamplighterError as away:
            _log.warning("%d runs began, and nobody was told: %s", len(started), away)

    def ended(self, endings: Sequence[Ending], also: Sequence[JobEvent] = ()) -> bool:
        """Whether the bus has all of it. Returns only when the bus or the ledger has.

        `also` is news that goes with it: what began and ended in one breath.
        """
        fail_point(FailPoint.RUN_ENDED)
        now = self._now()
        events = [ended(started, outcome, now) for started, outcome in endings]
        while True:
            try:
                self._bus.publish(job_event_messages([*also, *events]))
            except LamplighterError as away:
                _log.warning("%d outcomes not on the bus: %s", len(events), away)
                if self._write(events):
                    return False
                self._sleep(_PAUSE_SECONDS)
            else:
                fail_point(FailPoint.REPORT_PUBLISHED)
                return True

    def settled(self, ended: Sequence[Settled]) -> None:
        """What a claim has ended, instead of granting it: no worker will report that."""
        if ended:
            tell_settled(self._ledger, self._bus, ended)

    def _write(self, events: Sequence[JobEvent]) -> bool:
        """What the recorder does elsewhere, in this process."""
        try:
            self._recorder.record(events, bus_is_away=True)
        except LedgerUnavailable as away:
            _log.warning("%d outcomes not in the ledger either: %s", len(events), away)
            return False
        return True
