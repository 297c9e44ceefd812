"""What a run prints: its beginning and end for the ledger, all of it for the log."""

import logging
import threading
from collections.abc import Callable
from typing import Final

import msgspec

from lamplighter.ports.logs import LogWriter
from lamplighter.stages.run.keeping import Mask, clean
from lamplighter.stages.run.limits import Limits

_log: Final = logging.getLogger(__name__)
_LOG_CUT: Final = b"\n[lamplighter: the log ends here, at its limit of %d bytes]\n"


class Captured(msgspec.Struct, frozen=True):
    stdout: str | None = None
    stderr: str | None = None
    log_url: str | None = None


NOTHING: Final = Captured()


class Kept:
    """The first and the last bytes of a stream, in memory that does not grow with it."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def write(self, data: bytes) -> None:
        self._total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-self._half :]
            # Trimmed at twice its size, so that a byte at a time costs no copy each.
            if len(self._tail) > 2 * self._half:
                del self._tail[: -self._half]

    def text(self) -> str | None:
        if not self._total:
            return None
        tail = bytes(self._tail[-self._half :])
        left_out = self._total - len(self._head) - len(tail)
        if not left_out:
            return clean((bytes(self._head) + tail).decode(errors="replace"))
        begin, end = self._head.decode(errors="replace"), tail.decode(errors="replace")
        return clean(f"{begin}\n… {left_out:,} bytes left out …\n{end}")


class Stream:
    """One of stdout and stderr. Masks secrets, also where one arrives in two pieces."""

    def __init__(self, kept: Kept, mask: Mask, output: "Output") -> None:
        self._kept = kept
        self._mask = mask
        self._output = output
        self._pending = b""

    def write(self, data: bytes) -> None:
        with self._output.lock:
            if self._mask:
                data = self._mask.bytes(self._pending + data)
                hold = min(len(data), self._mask.longest - 1)
                self._pending = data[len(data) - hold :]
                data = data[: len(data) - hold]
            self._pass_on(data)

    def flush(self) -> None:
        rest, self._pending = self._pending, b""
        self._pass_on(rest)

    def text(self) -> str | None:
        return self._kept.text()

    def _pass_on(self, data: bytes) -> None:
        if data and not self._output.closed:
            self._kept.write(data)
            self._output.log(data)


class Output:
    """Both streams of one run. The log is opened by the first byte: most runs print nothing."""

    def __init__(self, limits: Limits, mask: Mask, open_log: Callable[[], LogWriter]) -> None:
        # Reentrant: a handler's destructor may print while its thread is printing.
        self.lock = threading.RLock()
        self.closed = False
        self._open_log = open_log
        self._writer: LogWriter | None = None
        self._room = limits.log_bytes
        self._limit = limits.log_bytes
        self._log_failed = False
        self.stdout = Stream(Kept(limits.kept_bytes), mask, self)
        self.stderr = Stream(Kept(limits.kept_bytes), mask, self)

    def log(self, data: bytes) -> None:
        if self._log_failed or self._room <= 0:
            return
        try:
            self._writer = self._writer or self._open_log()
            self._writer.write(data[: self._room])
            self._room -= len(data)
            if self._room <= 0:
                self._writer.write(_LOG_CUT % self._limit)
        except Exception as problem:  # noqa: BLE001 - a store that fails must not fail the run
            self._give_up_log(problem)

    def close(self) -> Captured:
        """What was kept. Whatever is printed from now on is nobody's."""
        with self.lock:
            self.stdout.flush()
            self.stderr.flush()
            self.closed = True
        return Captured(self.stdout.text(), self.stderr.text(), self._close_log())

    def _close_log(self) -> str | None:
        if self._writer is None or self._log_failed:
            return None
        try:
            return self._writer.close()
        except Exception as problem:  # noqa: BLE001
            self._give_up_log(problem)
            return None

    def _give_up_log(self, problem: Exception) -> None:
        self._log_failed = True
        _log.warning("log not kept: %s", problem)
        if self._writer is not None:
            self._writer.discard()
