"""Ending Python code that does not look whether it should.

No thread can be killed. But CPython can raise an exception in one, at its next line of Python; that
ends a loop that runs for ever. Code that waits inside C (a socket, time.sleep) notices when that
returns; until then its thread is left behind.
"""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lamplighter.ports.target import Context, Stopped

# From being told to being interrupted: long enough for a handler that looks.
COOPERATION_SECONDS: Final = 0.4


class _Interrupter:
    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._done = False

    def arm(self) -> None:
        timer = threading.Timer(COOPERATION_SECONDS, self._interrupt)
        timer.daemon = True
        timer.start()

    def disarm(self) -> None:
        # Whoever is interrupted holds no lock of ours: it would be waiting here, and is hit as
        # soon as it gets it, still inside this function.
        with self._lock:
            self._done = True

    def _interrupt(self) -> None:
        with self._lock:
            if not self._done:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(self._thread), ctypes.py_object(Stopped)
                )


@contextmanager
def interrupted_by(context: Context) -> Iterator[None]:
    """Within, this thread is hit by Stopped a moment after the run was told to stop."""
    interrupter = _Interrupter()
    with context.on_stop(interrupter.arm):
        try:
            yield
        finally:
            interrupter.disarm()
