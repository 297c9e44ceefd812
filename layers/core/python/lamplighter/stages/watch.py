"""Watch: hold the lease and do in turn what a leader does; a second watcher stands by."""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

import msgspec

from lamplighter.domain.errors import LeaseLost
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Lease, Ledger
from lamplighter.ports.queue import Queue, QueueEmptied, QueueUnavailable, StaleEpoch
from lamplighter.stages.capacity import Window
from lamplighter.stages.clock import LedgerClock
from lamplighter.stages.load import begin, follow_up, load, load_awake
from lamplighter.stages.plan import HORIZON, plan
from lamplighter.stages.sweep import sweep, tend
from lamplighter.stages.tick import take_over, tick

LEASE: Final = "watcher"
LEASE_TTL: Final = timedelta(seconds=1.5)
STANDBY_SECONDS: Final = 0.25
# What is due and finds no room is looked at again after this; room is asked for no more often.
SHORTEST_SLEEP: Final = 0.02


class Rhythm(msgspec.Struct, frozen=True):
    """How often, in seconds, a leader does each of its duties."""

    renew: float = 0.5
    plan: float = 0.5  # a schedule that was just submitted may fire within the second
    load: float = 20.0
    wake: float = 0.25
    sweep: float = 3.0
    follow_up: float = 5.0
    tend: float = 3600.0


class Report(msgspec.Struct):
    """What a watcher did while it lived: the answer of its function."""

    holder: str
    led_epochs: list[int] = []
    planned: int = 0
    published: int = 0
    woken: int = 0
    lost: int = 0


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
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ledger, self._queue, self._bus = ledger, queue, bus
        self._window = window
        self._rhythm = rhythm or Rhythm()
        self._retention = retention
        self._steady = steady
        self._clock = LedgerClock(ledger.now, steady=steady)
        self._report = Report(holder)
        self._stopping = False

    def stop(self) -> None:
        """From any thread: hand the lease on and return, within a turn of the loop."""
        self._stopping = True
        with suppress(QueueUnavailable):
            self._queue.wake()

    def _left(self, end: float) -> float:
        return 0.0 if self._stopping else max(0.0, end - self._steady())

    def watch(self, seconds: float) -> Report:
        """Lead whenever the lease can be had, until the time is over; then hand it on."""
        end = self._steady() + seconds
        while (left := self._left(end)) > 0:
            lease = self._ledger.acquire_lease(LEASE, self._report.holder, LEASE_TTL)
            if lease is None:
                self._queue.sleep(min(STANDBY_SECONDS, left))
                continue
            self._report.led_epochs.append(lease.epoch)
            with suppress(LeaseLost, StaleEpoch):  # somebody else leads, and has all this one had
                self._lead(lease, end)
        return self._report

    def _lead(self, lease: Lease, end: float) -> None:
        try:
            while self._left(end) > 0:
                with suppress(QueueEmptied):  # begin again, from the watermark, as the same leader
                    self._lead_until_emptied(lease, end)
        finally:
            self._ledger.release_lease(lease)

    def _lead_until_emptied(self, lease: Lease, end: float) -> None:
        loaded_to = begin(self._ledger, self._queue, lease)
        self._report.published += take_over(self._queue, self._bus, lease, self._window)
        duties = Duties(self._rhythm, self._steady)
        while (left := self._left(end)) > 0:
            if duties.due("renew"):
                lease = self._ledger.renew_lease(lease, LEASE_TTL)
            until = self._clock.now() + HORIZON
            if duties.due("plan"):
                self._plan(lease, until)
            if duties.due("load"):
                loaded_to = load(self._ledger, self._queue, lease, loaded_to=loaded_to, until=until)
            self._look_again(lease, loaded_to, duties)
            self._tick_and_sleep(lease, min(left, duties.until_next()))

    def _plan(self, lease: Lease, until: datetime) -> None:
        for page in plan(self._ledger, lease, until):
            # Loading has passed these fires already, or is about to: the queue takes each once.
            self._queue.add(page, epoch=lease.epoch)
            self._report.planned += len(page)

    def _look_again(self, lease: Lease, loaded_to: datetime, duties: "Duties") -> None:
        if duties.due("wake"):
            self._report.woken += load_awake(self._ledger, self._queue, lease)
        if duties.due("sweep"):
            self._report.lost += sweep(self._ledger).lost
        if duties.due("follow_up"):
            follow_up(self._ledger, lease, loaded_to)
        if duties.due("tend"):
            tend(self._ledger, retention=self._retention)

    def _tick_and_sleep(self, lease: Lease, longest: float) -> None:
        now = self._clock.now()
        turn = tick(self._queue, self._bus, lease, now, self._window)
        self._report.published += len(turn.runs)
        if turn.more and turn.runs:
            return
        until_due = longest
        if turn.next_due is not None:
            until_due = max(0.0, (turn.next_due - self._clock.now()).total_seconds())
        self._queue.sleep(min(longest, max(SHORTEST_SLEEP, until_due)))


class Duties:
    """Which of the leader's duties is due; each counts from when it was last begun."""

    def __init__(self, rhythm: Rhythm, steady: Callable[[], float]) -> None:
        self._every: dict[str, float] = msgspec.to_builtins(rhythm)
        self._steady = steady
        self._next = dict.fromkeys(self._every, float("-inf"))

    def due(self, duty: str) -> bool:
        now = self._steady()
        if now < self._next[duty]:
            return False
        self._next[duty] = now + self._every[duty]
        return True

    def until_next(self) -> float:
        return max(0.0, min(self._next.values()) - self._steady())
