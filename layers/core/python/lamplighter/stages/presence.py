"""Presence: a worker says that it lives, and hears which of its runs somebody wants stopped."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, Protocol

from lamplighter.contracts.messages import WorkerEvent, WorkerEventType, encode
from lamplighter.contracts.topics import WORKER_EVENTS
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.ports.bus import Bus, BusUnavailable, Message
from lamplighter.ports.cache import Cache
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.stages.run import Runner

_log: Final = logging.getLogger("lamplighter.presence")
# Silence of 15 s costs a worker its runs.
IDLE_SECONDS: Final = 5.0
BUSY_SECONDS: Final = 2.0
# How soon a running job hears that it was cancelled, while Valkey is there to say so.
LISTEN_SECONDS: Final = 0.25
# How often who has no run looks whether it is time for a sign of life.
_NAP_SECONDS: Final = 1.0


class Protect(Protocol):
    def __call__(self, *, busy: bool) -> None: ...


class Presence:
    """One per worker process. The thread lives as long as the process: it holds nothing up."""

    def __init__(  # noqa: PLR0913 - its ports, and who it is
        self,
        ledger: Ledger,
        cache: Cache,
        bus: Bus,
        runner: Runner,
        *,
        worker_id: str,
        pool: str,
        now: Callable[[], datetime],
        thrifty: bool = False,
        protect: Protect | None = None,
    ) -> None:
        """A thrifty one leaves the ledger alone while it has no run there.

        `protect` is told whether this worker has runs, where somebody might take it away.
        """
        self._ledger, self._cache, self._bus, self._runner = ledger, cache, bus, runner
        self._worker_id, self._pool = worker_id, pool
        self._now, self._thrifty, self._protect = now, thrifty, protect
        self._stopping = threading.Event()
        self._beaten_at = float("-inf")

    def start(self) -> None:
        threading.Thread(target=self._attend, name="presence", daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        self._runner.placed.set()
        self._tell(WorkerEventType.STOPPED)

    def _attend(self) -> None:
        self._tell(WorkerEventType.REGISTERED)
        while True:
            try:
                busy = self.look()
            except LamplighterError as error:
                _log.warning("no sign of life was taken: %s", error)
                busy = bool(self._runner.running())
            if self._is_over(busy=busy):
                return

    def _is_over(self, *, busy: bool) -> bool:
        """After a pause. A run that begins ends a nap: it is listened for like those before it.

        Not at once: most runs have ended by then, and cost nobody a question.
        """
        if not busy:
            if not self._runner.placed.wait(_NAP_SECONDS):
                return self._stopping.is_set()
            self._runner.placed.clear()
        return self._stopping.wait(LISTEN_SECONDS)

    def look(self) -> bool:
        """One turn: listen, and say that we live when it is time to. Whether anything runs here."""
        running = self._runner.running()
        if self._protect is not None:
            self._protect(busy=bool(running))
        if running:
            with suppress(QueueUnavailable):  # the heartbeat's answer says the same, later
                self._runner.cancel(self._cache.cancelled(running))
        if time.monotonic() - self._beaten_at >= (BUSY_SECONDS if running else IDLE_SECONDS):
            self._beat(in_ledger=bool(running) or not self._thrifty)
        return bool(running)

    def _beat(self, *, in_ledger: bool) -> None:
        self._beaten_at = time.monotonic()
        if in_ledger:
            self._beat_in_ledger()
        with suppress(QueueUnavailable):
            alive = encode(self._event(WorkerEventType.REGISTERED))
            self._cache.put_worker_statuses({self._worker_id: alive})

    def _beat_in_ledger(self) -> None:
        capacity = self._runner.limits.places
        try:
            self._runner.cancel(self._ledger.heartbeat(self._worker_id, self._pool, capacity))
        except LedgerUnavailable as away:
            _log.warning("no heartbeat: %s", away)

    def _tell(self, what: WorkerEventType) -> None:
        try:
            key = self._worker_id.encode()
            self._bus.publish([Message(WORKER_EVENTS.name, encode(self._event(what)), key)])
        except (BusUnavailable, LedgerUnavailable) as away:
            _log.warning("%s was not told: %s", what.value, away)

    def _event(self, what: WorkerEventType) -> WorkerEvent:
        capacity = self._runner.limits.places
        return WorkerEvent(what, self._worker_id, self._pool, self._now(), capacity)
