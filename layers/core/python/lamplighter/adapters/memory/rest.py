"""The ledger's rest, in memory."""

import threading
from collections.abc import Callable
from datetime import datetime


class MemoryRest:
    """`call`: what wakes those who listen on the queue's channel."""

    def __init__(self, call: Callable[[], None] = lambda: None) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._known: str | datetime | None = None

    def until(self) -> datetime | None:
        return self._known if isinstance(self._known, datetime) else None

    def consider(self, mark: str) -> None:
        with self._lock:
            self._known = mark

    def begin(self, mark: str, until: datetime) -> bool:
        with self._lock:
            if self._known != mark:
                return False
            self._known = until
            return True

    def end(self) -> None:
        with self._lock:
            self._known = None
        self._call()
