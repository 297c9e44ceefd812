"""What the local services have in common: one folder, one port, one process, one log."""

import errno
import secrets
import socket
import threading
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self
from urllib.parse import urlsplit

from infra.local.child import Child, Command, run_to_end
from infra.local.errors import ServiceFailed, with_tail
from infra.local.folder import FolderLock
from infra.local.logfiles import renew

HOST: Final = "127.0.0.1"
POLL_SECONDS: Final = 0.02
# A port is free when we look, and another may take it before the service does.
PORT_ATTEMPTS: Final = 3
# Below what Linux (32768) and others (49152) give away, above what is well known.
PORTS: Final = range(20_000, 32_000)


class Service(ABC):
    """A server on this machine. Its data outlive it; it does not outlive its starter.

    The same object may be started again, on the same port, so that clients find it where it was.
    """

    name: ClassVar[str]
    start_seconds: ClassVar[float] = 30.0

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self.folder = folder.resolve()
        self.log = self.folder / "log"
        self.port = port
        self._child: Child | None = None
        self._busy = threading.Lock()
        self._interrupted = threading.Event()
        self._lock = FolderLock(self.folder, wait_seconds=self.start_seconds)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients find it, password included."""

    @abstractmethod
    def prepare(self) -> None:
        """Make on disk what the service needs: once, and safe to repeat after a crash."""

    @abstractmethod
    def command(self) -> Command:
        """The program that serves in the foreground."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether it answers a request now. Errors that mean `not yet` are answered with False."""

    @property
    def shown_url(self) -> str:
        """The URL for people and logs: without the password."""
        return without_password(self.url)

    @property
    def pid(self) -> int:
        """The server's own process."""
        return self._running_child().pid

    def running(self) -> bool:
        """Whether it was started and has not ended, by itself or by us."""
        child = self._child
        return child is not None and child.running()

    def ending(self) -> str:
        """How it ended, in a few words; for one that is not running."""
        return self._child.ending() if self._child else "not started"

    def start(self) -> Self:
        """Start, and return when it answers. Raises ServiceFailed with the end of its log."""
        with self._busy:
            if self._child:
                raise ServiceFailed(f"{self.name} is running already")
            self.folder.mkdir(parents=True, exist_ok=True)
            self._interrupted.clear()
            self._lock.take()
            try:
                self._start_on_a_port()
            except BaseException:
                self._end()
                raise
        return self

    def interrupt(self) -> None:
        """From another thread: let a start that is under way fail soon."""
        self._interrupted.set()

    def stop(self) -> None:
        """Stop, and return when it has ended. Harmless when it does not run."""
        self.interrupt()
        with self._busy:
            self._end()

    def kill(self) -> None:
        """Crash it (SIGKILL), as a power cut would; it can be started again."""
        self._running_child().kill()
        self.stop()

    def run(self, command: Command) -> None:
        """Run one of the service's own tools to its end, its output into the log."""
        ended = run_to_end(command, log=self.log, lock=self._lock.descriptor)
        if ended:
            raise with_tail(f"{Path(command.arguments[0]).name} failed ({ended}).", self.log)

    def _start_on_a_port(self) -> None:
        chosen_by_us = self.port == 0
        for attempt in range(1, PORT_ATTEMPTS + 1):
            renew(self.log)
            self.port = self.port or free_port()
            try:
                self._launch()
            except ServiceFailed as failed:
                taken = "already in use" in str(failed).lower()
                if not (chosen_by_us and taken) or attempt == PORT_ATTEMPTS:
                    raise
                self._end_child()
                self.port = 0
            else:
                return

    def _launch(self) -> None:
        self.prepare()
        self._go_on()
        self._child = Child(self.command(), log=self.log, lock=self._lock.descriptor)
        began = time.monotonic()
        while not self.ready():
            self._go_on()
            if not self._child.running():
                raise with_tail(f"{self.name} did not start: it ended at once.", self.log)
            if time.monotonic() - began > self.start_seconds:
                raise with_tail(f"{self.name} did not answer in {self.start_seconds} s.", self.log)
            time.sleep(POLL_SECONDS)

    def _go_on(self) -> None:
        if self._interrupted.is_set():
            raise ServiceFailed(f"{self.name} was stopped while it started")

    def _end(self) -> None:
        self._end_child()
        self._lock.release()

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child:
            child.stop()

    def _running_child(self) -> Child:
        if not self._child:
            raise ServiceFailed(f"{self.name} is not running")
        return self._child

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def free_port() -> int:
    """A TCP port of the loopback address that nobody uses at this moment.

    None of those that the system gives to whoever asks for any: until a service listens, or while
    it is started again, somebody would be given the same.
    """
    while True:
        port = PORTS.start + secrets.randbelow(len(PORTS))
        with socket.socket() as probe:
            if _is_free(probe, port):
                return port


def _is_free(probe: socket.socket, port: int) -> bool:
    try:
        probe.bind((HOST, port))
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            raise
        return False
    return True


def without_password(url: str) -> str:
    """The same URL, fit for a screen or a log."""
    parts = urlsplit(url)
    user, _, address = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    return parts._replace(netloc=f"{name}@{address}" if name else address).geturl()
