"""What a handler prints belongs to its run, though all threads share one sys.stdout."""

import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from lamplighter.ports.target import Context, Sink


class _Current(threading.local):
    sinks: dict[str, Sink] | None = None


_current = _Current()


class Router(io.TextIOBase):
    """Stands before sys.stdout or sys.stderr, and sends each thread's text to its own run."""

    def __init__(self, name: str, beneath: TextIO) -> None:
        self._name = name
        self._beneath = beneath

    def write(self, text: str) -> int:
        sinks = _current.sinks
        if sinks is None:
            return self._beneath.write(text)
        sinks[self._name].write(text.encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        if _current.sinks is None:
            self._beneath.flush()

    def isatty(self) -> bool:
        return _current.sinks is None and self._beneath.isatty()

    def fileno(self) -> int:
        return self._beneath.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._beneath.encoding


@contextmanager
def printing_to(context: Context) -> Iterator[None]:
    """Within, this thread prints into the run's sinks; other threads are not affected."""
    for name in ("stdout", "stderr"):
        # Looked at each time: a test runner, or a person, may have put another one there.
        if not isinstance(getattr(sys, name), Router):
            setattr(sys, name, Router(name, getattr(sys, name)))
    _current.sinks = {"stdout": context.stdout, "stderr": context.stderr}
    try:
        yield
    finally:
        _current.sinks = None
