"""Calls at their time: deadlines of many runs, one thread for all of them."""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger(__name__)
_IDLE_SECONDS: Final = 10.0


class Alarms:
    """The thread exists while there is something to wait for. Callbacks must not block."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int]] = []
        self._calls: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._alive = False

    def at(self, when: float, call: Callable[[], None]) -> int:
        """Call it at this instant of time.monotonic(). The answer takes it back."""
        with self._changed:
            number = next(self._numbers)
            self._calls[number] = call
            heapq.heappush(self._heap, (when, number))
            if not self._alive:
                self._alive = True
                threading.Thread(target=self._serve, name="alarms", daemon=True).start()
            elif self._heap[0][1] == number:
                self._changed.notify()
        return number

    def take_back(self, number: int) -> None:
        with self._changed:
            self._calls.pop(number, None)
            # Most runs end long before their deadline; their entries must not pile up until then.
            if len(self._heap) > 2 * len(self._calls) + 64:
                self._heap = [entry for entry in self._heap if entry[1] in self._calls]
                heapq.heapify(self._heap)

    def _serve(self) -> None:
        while (call := self._next()) is not None:
            try:
                call()
            except Exception:  # noqa: BLE001 - the other runs' deadlines still count
                _log.exception("alarm failed")

    def _next(self) -> Callable[[], None] | None:
        """The next call whose time has come; None when there was nothing to do for a while."""
        with self._changed:
            while True:
                if not self._heap:
                    if not self._changed.wait(_IDLE_SECONDS) and not self._heap:
                        self._alive = False
                        return None
                    continue
                when, number = self._heap[0]
                if number in self._calls and (ahead := when - time.monotonic()) > 0:
                    self._changed.wait(ahead)
                    continue
                heapq.heappop(self._heap)
                if call := self._calls.pop(number, None):
                    return call
