"""Thrift: leave the ledger alone while nothing is due there, so that its database may pause.

A watcher asks the queue's store first: until when the ledger rests, and who may look at it. The
ledger's own lease is taken as well by whoever works with it, and fences what is written there.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import uuid4

from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.ports.ledger import Lease, Leases, Ledger
from lamplighter.ports.queue import QueueUnavailable, Waking
from lamplighter.ports.rest import Rest
from lamplighter.stages.duties import Report
from lamplighter.stages.hint import GATE
from lamplighter.stages.lead import LEASE_TTL, SHORTEST_SLEEP

# A watcher is called once a minute, and a paused database takes half of one to come back.
LEAD: Final = timedelta(seconds=90)
# What nobody told of, because the queue's store was away at that moment, is found after this.
LONGEST_REST: Final = timedelta(hours=1)
_LOOK_SECONDS: Final = 1.0


class Shift(Protocol):
    """A watcher over the ledger, as `stages/watch.py` has one."""

    def watch(self, seconds: float) -> Report: ...

    def stop(self) -> None: ...


Hire = Callable[[Report, Callable[[], None]], Shift]


def rests_until(ledger: Ledger, latest: datetime) -> datetime:
    """Before this instant nobody has anything to do with the ledger, unless somebody writes to it.

    A run with jitter counts from its fire. What is with a worker, and may be lost with it, counts
    from ever.
    """
    agenda = ledger.agenda()
    waiting = ledger.page(first_run_id(ledger.cursor().watermark), latest, 1)
    instants = [agenda.fire_at, agenda.wake_at, *(fire_of(run.run_id) for run in waiting), latest]
    if ledger.is_any_running():
        instants.append(ledger.now() - LONGEST_REST)
    return min(instant for instant in instants if instant is not None)


class ThriftyWatcher:
    def __init__(  # noqa: PLR0913 - its ports, and each knob by its name
        self,
        ledger: Ledger,
        rest: Rest,
        gate: Leases,
        channel: Waking,
        hire: Hire,
        *,
        holder: str,
        now: Callable[[], datetime],
        let_go: Callable[[], object],
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """`hire` makes a watcher that reports there and calls back whenever it renewed its lease.

        `let_go` closes all connections to the ledger. `now` asks nobody.
        """
        self._ledger, self._rest, self._gate, self._channel = ledger, rest, gate, channel
        self._hire, self._let_go = hire, let_go
        self._now, self._steady = now, steady
        self._report = Report(holder)

    def watch(self, seconds: float) -> Report:
        """As a watcher does; returns at once where nothing is due before the next one comes."""
        end = self._steady() + seconds
        while (left := end - self._steady()) > 0:
            self._report.asleep_until = self._asleep_until()
            if self._report.asleep_until is not None:
                break
            gate = self._enter()
            if gate is None:
                self._stand_by(left)
            else:
                self._work(gate, left)
        return self._report

    def _asleep_until(self) -> datetime | None:
        """None: it is time to look, or nobody knows."""
        try:
            until = self._rest.until()
        except QueueUnavailable as error:
            self._report.note(error)
            return None
        return until if until is not None and until > self._now() + LEAD else None

    def _enter(self) -> Lease | None:
        """Without the store, everybody enters: the ledger's own lease decides."""
        holder = self._report.holder
        try:
            return self._gate.acquire_lease(GATE, holder, LEASE_TTL)
        except QueueUnavailable:
            return Lease(GATE, holder, 0, self._now())

    def _stand_by(self, left: float) -> None:
        with suppress(QueueUnavailable):
            held = self._gate.lease(GATE)
            until = self._now() if held is None else held.expires_at
            seconds = (until - self._now()).total_seconds()
            self._channel.sleep(max(0.0, min(seconds, LEASE_TTL.total_seconds(), left)))
        time.sleep(SHORTEST_SLEEP)  # however many call

    def _work(self, gate: Lease, left: float) -> None:
        """Until time is over or nothing is left to do; then nobody is kept from coming in."""
        spell = _Spell(self._ledger, self._gate, self._report, self._now, self._steady)
        shift = self._hire(self._report, spell.kept)
        spell.stop = shift.stop
        try:
            shift.watch(left)
            self._lie_down()
        finally:
            self._let_go()
            with suppress(QueueUnavailable):
                self._gate.release_lease(gate)
                self._channel.wake()

    def _lie_down(self) -> None:
        """Whoever writes to the ledger says so afterwards.

        So what this look misses is told after the mark was made, and the rest does not begin.
        """
        mark = uuid4().hex
        with suppress(QueueUnavailable, LedgerUnavailable):
            self._rest.consider(mark)
            now = self._now()
            until = rests_until(self._ledger, now + LONGEST_REST)
            if until > now + LEAD:
                self._rest.begin(mark, until)


class _Spell:
    """While somebody leads: keeps the gate, and ends the work when there is none."""

    def __init__(
        self,
        ledger: Ledger,
        gate: Leases,
        report: Report,
        now: Callable[[], datetime],
        steady: Callable[[], float],
    ) -> None:
        self._ledger, self._gate, self._report = ledger, gate, report
        self._now, self._steady = now, steady
        self._rounds = report.rounds
        self._look_next = steady()
        self.stop: Callable[[], None] = lambda: None

    def kept(self) -> None:
        """The gate is asked for anew: the store may have been emptied, and then it is free.

        Without the store nobody could be told to rest.
        """
        try:
            self._gate.acquire_lease(GATE, self._report.holder, LEASE_TTL)
        except QueueUnavailable:
            return
        if self._report.rounds > self._rounds and self._steady() >= self._look_next:
            self._look_next = self._steady() + _LOOK_SECONDS
            now = self._now()
            if rests_until(self._ledger, now + LONGEST_REST) > now + LEAD:
                self.stop()
