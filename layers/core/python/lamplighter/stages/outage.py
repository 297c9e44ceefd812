"""Outage: a part that is away is asked for in the background, so that nobody waits for it."""

import threading
import time
from collections.abc import Callable
from typing import Final

from lamplighter.domain.errors import LamplighterError

_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
# One that comes back and goes again within this time is trusted less and less.
_STEADY_SECONDS: Final = 5.0


class Outage:
    """Lasts from `begin` until the part answers again.

    A call to a part that hangs takes seconds to fail, longer than a lease lasts: so whoever finds
    it away leaves it alone, and a thread of its own asks, with pauses that grow to a second.
    """

    def __init__(self, ask: Callable[[], object], then: Callable[[], None]) -> None:
        self._ask = ask
        self._then = then
        self._lasts = threading.Event()
        self._closed = threading.Event()
        self._pause = _SHORTEST_PAUSE
        self._ended_at = float("-inf")

    @property
    def lasts(self) -> bool:
        return self._lasts.is_set()

    def begin(self) -> None:
        if self._lasts.is_set():
            return
        if time.monotonic() - self._ended_at > _STEADY_SECONDS:
            self._pause = _SHORTEST_PAUSE
        self._lasts.set()
        closed = self._closed = threading.Event()
        threading.Thread(target=self._wait, args=[closed], name="outage", daemon=True).start()

    def close(self) -> None:
        """Ask no more."""
        self._closed.set()
        self._lasts.clear()

    def _wait(self, closed: threading.Event) -> None:
        while not closed.wait(self._pause):
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            try:
                self._ask()
            except LamplighterError:
                continue
            self._ended_at = time.monotonic()
            self._lasts.clear()
            self._then()
            return
