"""Lines of the log: past-tense facts with ids as keys. JSON where machines read them, else text.

    log.info("runs claimed", extra=keys(run_ids=listed(log, ids), worker_id=…))

Lambda has JSON lines of its own, but Fargate has not, and neither says which function it was: one
format for both, made here, on top of whatever handler the platform has put there.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final, TextIO
from uuid import UUID

# Of a batch, in a line: enough to find it again. Whoever looks for one run asks for more.
MOST_IDS: Final = 20
_MOST_IDS_IN_DEBUG: Final = 10_000
_KEYS: Final = "lamplighter_keys"
_FLUSH_SECONDS: Final = 2.0

_invocation: ContextVar[dict[str, Any]] = ContextVar("invocation", default={})  # noqa: B039 - never changed

# A process on Lambda or Fargate is one function's: its other threads need not be told.
_process: Final[dict[str, Any]] = {}


def keys(**named: Any) -> dict[str, Any]:
    """For `extra`: under one name, so that none of them can be one of logging's own."""
    return {_KEYS: named}


def listed(log: logging.Logger, ids: Iterable[UUID]) -> list[str]:
    """The ids of a batch: some of them, or, while somebody looks closely, all."""
    most = _MOST_IDS_IN_DEBUG if log.isEnabledFor(logging.DEBUG) else MOST_IDS
    return [str(each) for each in islice(ids, most)]


@contextmanager
def told_in_every_line(function: str, **named: Any) -> Iterator[None]:
    """Within, in this thread; the function also in threads that it has started, and after it."""
    _process["function"] = function
    told = {"function": function, **named}
    before = _invocation.set({name: value for name, value in told.items() if value})
    try:
        yield
    finally:
        _invocation.reset(before)


class JsonLines(logging.Formatter):
    """`end`: what makes a line of it, where the handler does not."""

    def __init__(self, end: str = "") -> None:
        super().__init__()
        self._end = end

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": _instant(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **(_invocation.get() or _process),
            **getattr(record, _KEYS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Not msgspec: whatever somebody puts there, a line must come of it.
        return json.dumps(line, default=str, ensure_ascii=False) + self._end


class Lines(logging.Formatter):
    """For people: the same facts, in one line of text."""

    def format(self, record: logging.LogRecord) -> str:
        named = {**getattr(record, _KEYS, {})}
        said = " ".join([record.getMessage(), *(f"{n}={_shown(v)}" for n, v in named.items())])
        line = f"{_instant(record)} {record.levelname} {record.name} {said}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class Behind(logging.Handler):
    """Writes in a thread of its own, all that is there at once: who says something goes on.

    Where sixty threads answer requests, each line written by who says it made the others wait for
    the lock and for the disk; that was half of what a request took. Written when the process ends
    by itself; what is killed keeps its last moment.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._said: SimpleQueue[str | threading.Event] = SimpleQueue()
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def createLock(self) -> None:  # noqa: N802 - logging's name
        """None: a line is made by its own thread, and the queue takes many at once."""
        self.lock = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._said.put(self.format(record))
        except Exception:  # noqa: BLE001 - as every handler does
            self.handleError(record)

    def flush(self) -> None:
        """Wait until all that was said is written, but not for a disk that hangs."""
        written = threading.Event()
        self._said.put(written)
        written.wait(_FLUSH_SECONDS)

    def _write(self) -> None:
        while True:
            said = [self._said.get()]
            while not self._said.empty():
                said.append(self._said.get())
            with suppress(OSError, ValueError):  # a disk that is full, a stream that was closed
                self._stream.write("".join(f"{each}\n" for each in said if isinstance(each, str)))
                self._stream.flush()
            for each in said:
                if isinstance(each, threading.Event):
                    each.set()


def write_json(level: str) -> None:
    """Every line of this process, in the handlers that are there; else on standard output."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.StreamHandler(sys.stdout))
    for handler in root.handlers:
        # Lambda's own handler leaves the end of a line to the format.
        ends_lines = isinstance(handler, logging.StreamHandler)
        handler.setFormatter(JsonLines("" if ends_lines else "\n"))
    root.setLevel(level.upper())


def write_text(level: str) -> None:
    """To standard error."""
    handler = Behind(sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    # Who called, from which thread of which process, is in none of these lines, and costs more to
    # find out than the rest of a line. These are logging's own switches for that.
    logging._srcfile = None  # noqa: SLF001
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def _instant(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
