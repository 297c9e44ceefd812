"""Outbox: things to be sent by and by, by a thread of their own, so that nobody waits for it."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_log: Final = logging.getLogger("lamplighter.outbox")
_AT_ONCE: Final = 1_000
# How long the thread stays when there is nothing to do: starting one costs more than waiting.
_LINGER_SECONDS: Final = 1.0
# After each sending: who puts one at a time, often, has them sent together. The first goes at once.
_PAUSE_SECONDS: Final = 0.005


class Outbox(Generic[T]):
    """`send` gets them in order, some at a time. What finds no room is dropped, and counted."""

    def __init__(self, name: str, send: Callable[[list[T]], object], *, room: int) -> None:
        self._name = name
        self._send = send
        self._room = room
        self._changed = threading.Condition()
        self._waiting: deque[T] = deque()
        self._in_hand = 0
        self._thread: threading.Thread | None = None

    def put(self, items: Iterable[T]) -> int:
        """How many found no room. Returns at once."""
        wanted = list(items)
        with self._changed:
            taken = wanted[: max(0, self._room - len(self._waiting))]
            self._waiting.extend(taken)
            if taken:
                self._changed.notify_all()
                self._begin()
        dropped = len(wanted) - len(taken)
        if dropped:
            _log.warning("%s: no room for %d", self._name, dropped)
        return dropped

    def drain(self, seconds: float) -> bool:
        """Wait so long for all to be sent; whether they are."""
        end = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._in_hand:
                if not self._changed.wait(max(0.0, end - time.monotonic())):
                    return False
        return True

    def _begin(self) -> None:
        if self._thread is None:
            # A daemon: what could not be sent does not keep the process from ending.
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while some := self._next():
            try:
                self._send(some)
            except Exception:  # noqa: BLE001 - logged, and the next ones may fare better
                _log.exception("%s: %d were not sent", self._name, len(some))
            with self._changed:
                self._in_hand = 0
                self._changed.notify_all()
            _pause()

    def _next(self) -> list[T]:
        """Some of what waits; nothing, and the thread is done, when nothing came for a while."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(_LINGER_SECONDS)
            some = list(islice(self._waiting, _AT_ONCE))
            for _ in some:
                self._waiting.popleft()
            self._in_hand = len(some)
            if not some:
                self._thread = None
            return some


def _pause() -> None:
    time.sleep(_PAUSE_SECONDS)
