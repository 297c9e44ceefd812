"""A service's process, held by a guardian that stops it when we are gone."""

import os
import signal
import socket
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.local import guardian

# Beyond the service's own grace: the time a guardian may take to notice and to leave.
GUARDIAN_SECONDS: Final = 5.0
# Another user may not be let into our working directory, and no program needs it.
ROOT: Final = "/"


@dataclass(frozen=True)
class Identity:
    """Whom a program runs as, where that is not us."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Command:
    """A program in the foreground, and how it wants to be told to stop."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 10.0
    identity: Identity | None = None


class Child:
    """A running command. It ends when `stop` is called, or when this process does."""

    def __init__(self, command: Command, *, log: Path, lock: int) -> None:
        self._grace = command.grace_seconds
        self._lifeline, far_end = socket.socketpair()
        with far_end, log.open("ab") as output:
            # A session of its own: Ctrl-C in the terminal reaches us alone, and we stop in order.
            self._guardian = subprocess.Popen(
                _guarded(command),
                stdin=far_end.fileno(),
                stdout=output,
                stderr=output,
                env=dict(command.environment),
                pass_fds=[lock],
                cwd=ROOT,
                start_new_session=True,
            )
        _lifelines.add(self._lifeline)
        # One short line, or nothing where the guardian itself could not start: then nothing runs.
        self.pid = int(self._lifeline.recv(64) or b"0")

    def running(self) -> bool:
        """Whether the program, and with it the guardian, is still there."""
        return self._guardian.poll() is None

    def ending(self) -> str:
        """How it ended, as a few words for people."""
        code = self._guardian.poll()
        if code is None:
            return "still running"
        # As a shell gives it: 128 and the signal's number.
        killed = code - 128 in set(signal.Signals)
        return (
            f"killed by {signal.Signals(code - 128).name}" if killed else f"ended with code {code}"
        )

    def wait(self) -> int:
        """Let it end by itself; answers with its exit code, as a shell would give it."""
        return self._guardian.wait()

    def stop(self) -> None:
        """Ask it to end, and return when it has."""
        self._lifeline.close()
        self._guardian.wait(self._grace + GUARDIAN_SECONDS)

    def kill(self) -> None:
        """Crash it, as a power cut would; for tests of what happens then."""
        if self.running():
            os.kill(self.pid, signal.SIGKILL)
        self.stop()


def run_to_end(command: Command, *, log: Path, lock: int) -> int:
    """Run a tool that ends by itself, and return its exit code.

    Guarded as a service is: a tool that went on after our death would write into a folder that
    the next one has taken, and begins by clearing.
    """
    tool = Child(command, log=log, lock=lock)
    try:
        return tool.wait()
    finally:
        tool.stop()


# A forked copy of this process would keep the services alive after our death, so it lets go.
_lifelines: "weakref.WeakSet[socket.socket]" = weakref.WeakSet()


def _let_go() -> None:
    for lifeline in list(_lifelines):
        lifeline.close()


os.register_at_fork(after_in_child=_let_go)


def _guarded(command: Command) -> list[str]:
    identity = command.identity
    uid, gid = (str(identity.uid), str(identity.gid)) if identity else ("-", "-")
    limits = [str(int(command.stop_signal)), str(command.grace_seconds)]
    # -I and -S: neither the environment nor site-packages has a say in, or slows, a guardian.
    program = [sys.executable, "-I", "-S", guardian.__file__]
    return [*program, *limits, uid, gid, *command.arguments]
