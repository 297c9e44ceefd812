"""Reach: calls to the ledger that nobody waits for longer than a person would.

A server that is gone says so late, and one that hangs never does. Who can do without the ledger
asks it through here, and learns within seconds that it is away.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, TypeVar

from lamplighter.domain.errors import LedgerUnavailable

T = TypeVar("T")
_Work = SimpleQueue[tuple[Future[Any], Callable[[], Any]]]

PATIENCE_SECONDS: Final = 3.0
REST_SECONDS: Final = 1.0


class Reach:
    """After a failure nobody asks for `rest` seconds; then one does, and waits no longer than that.

    The others go on without. So an outage costs the first ones `seconds`, and then one in a while.
    """

    def __init__(
        self,
        *,
        seconds: float = PATIENCE_SECONDS,
        rest: float = REST_SECONDS,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._rest = rest
        self._steady = steady
        self._lock = threading.Lock()
        self._is_away = False
        self._ask_next = float("-inf")
        self._helpers = _Helpers()

    def __call__(self, call: Callable[[], T], *, more_seconds: float = 0.0) -> T:
        """What `call` answers or raises; LedgerUnavailable when it takes too long.

        A call that was given up may still be carried out later: it must bear to be repeated.
        """
        seconds = self._patience(self._seconds + more_seconds)
        if seconds is None:
            raise LedgerUnavailable("it was away a moment ago, and was not asked again")
        answer = self._helpers.start(call)
        try:
            return answer.result(seconds)
        except TimeoutError:
            self._learn(is_away=True)
            raise LedgerUnavailable(f"no answer within {seconds:g} s") from None
        finally:
            if answer.done():
                self._learn(is_away=isinstance(answer.exception(), LedgerUnavailable))

    def _patience(self, seconds: float) -> float | None:
        """How long to wait; None: not at all. Who asks one that was away waits for the others."""
        with self._lock:
            now = self._steady()
            if now < self._ask_next:
                return None
            if self._is_away:
                seconds = min(seconds, self._rest)
                self._ask_next = now + seconds
            return seconds

    def _learn(self, *, is_away: bool) -> None:
        with self._lock:
            self._is_away = is_away
            self._ask_next = self._steady() + self._rest if is_away else float("-inf")


class _Helpers:
    """Threads that stay with a call that hangs. Daemons: it does not keep the process from ending.

    Kept for the next call: to start one costs more than the call itself.
    """

    def __init__(self) -> None:
        self._idle: list[_Work] = []

    def start(self, call: Callable[[], T]) -> "Future[T]":
        answer: Future[T] = Future()
        try:
            helper = self._idle.pop()
        except IndexError:
            helper = SimpleQueue()
            threading.Thread(target=self._help, args=(helper,), daemon=True, name="reach").start()
        helper.put((answer, call))
        return answer

    def _help(self, work: _Work) -> None:
        while True:
            answer, call = work.get()
            try:
                told = call()
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits for it
                self._idle.append(work)
                answer.set_exception(error)
            else:
                self._idle.append(work)
                answer.set_result(told)
            del answer, call
