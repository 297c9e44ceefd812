"""What the supervisor keeps alive: a service, or a component of Lamplighter itself."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final, Protocol

from infra.local.child import Child, Command
from infra.local.errors import ServiceFailed, with_tail

POLL_SECONDS: Final = 0.02

Answers = Callable[[], bool]


class Part(Protocol):
    """`Service` is one too."""

    @property
    def name(self) -> str: ...

    @property
    def log(self) -> Path: ...

    @property
    def pid(self) -> int: ...

    def running(self) -> bool: ...

    def ending(self) -> str:
        """How it ended, in a few words; for one that is not running."""

    def start(self) -> object:
        """Start, and return when it is ready. Raises ServiceFailed with the end of its log."""

    def interrupt(self) -> None:
        """From another thread: let a start that is under way fail soon."""

    def stop(self) -> None: ...


def mark_in(folder: Path, name: str) -> Path:
    """The file that a component makes when it is set up."""
    return folder / f"{name}.ready"


class Component:
    """A process of ours. It holds the stack's lock for as long as it lives.

    It is ready when it has made its mark, and where it can be asked, when it answers.
    """

    start_seconds: ClassVar[float] = 60.0

    def __init__(
        self, name: str, command: Command, folder: Path, *, lock: int, answers: Answers
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._mark = mark_in(folder, name)
        self._command = command
        self._lock = lock
        self._answers = answers
        self._child: Child | None = None
        self._interrupted = threading.Event()

    @property
    def pid(self) -> int:
        if not self._child:
            raise ServiceFailed(f"{self.name} is not running")
        return self._child.pid

    def running(self) -> bool:
        return self._child is not None and self._child.running()

    def ending(self) -> str:
        return self._child.ending() if self._child else "not started"

    def start(self) -> None:
        self._interrupted.clear()
        self._mark.unlink(missing_ok=True)
        self._child = Child(self._command, log=self.log, lock=self._lock)
        try:
            self._wait(self._child)
        except BaseException:
            self.stop()
            raise

    def interrupt(self) -> None:
        self._interrupted.set()

    def stop(self) -> None:
        self.interrupt()
        child, self._child = self._child, None
        if child:
            child.stop()

    def _wait(self, child: Child) -> None:
        began = time.monotonic()
        while not (self._mark.exists() and self._answers()):
            if not child.running():
                raise with_tail(f"{self.name} did not start: {child.ending()}.", self.log)
            if self._interrupted.wait(POLL_SECONDS):
                raise ServiceFailed(f"{self.name} was stopped while it started")
            if time.monotonic() - began > self.start_seconds:
                raise with_tail(f"{self.name} was not ready in {self.start_seconds} s.", self.log)
