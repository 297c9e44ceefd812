"""How a run is told to stop: once, for one reason, by whoever comes first."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lamplighter.ports.target import StopReason


class Stop:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = threading.Event()
        self._callbacks: list[Callable[[], None]] = []
        self.reason: StopReason | None = None

    def request(self, reason: StopReason) -> bool:
        """False where somebody has asked before; the first reason stands."""
        with self._lock:
            if self.reason is not None:
                return False
            self.reason = reason
            callbacks, self._callbacks = self._callbacks, []
        self._said.set()
        for callback in callbacks:
            callback()
        return True

    def requested(self) -> bool:
        return self.reason is not None

    def wait(self, seconds: float) -> bool:
        return self._said.wait(max(0.0, seconds))

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            late = self.reason is not None
            if not late:
                self._callbacks.append(callback)
        if late:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)
