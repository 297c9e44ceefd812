"""A process that starts commands, each under a guardian, and knows nothing else.

    python -I -S keeper.py      standard input: one end of a socket pair; the worker has the other

For each command the worker sends one byte with four descriptors: a lifeline, and the command's
stdin, stdout and stderr. The keeper forks a guardian for it. On Linux the guardian is a subreaper:
whatever the command starts, also what forks twice and begins a session of its own, stays in the
guardian's tree and is found there. The guardian ends the tree when the command has ended, when the
worker says so, or when the lifeline breaks because the worker died.

Over the lifeline: the worker sends a length, then the fields of the request; a byte later means
"stop". The guardian answers with the command's process id, then with how it ended.

One small process per worker that forks is 20 times faster than one Python start per command, and
safe, unlike forking the worker itself: there is only one thread here.
"""

import ctypes
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable

CONTROL = 0
PR_SET_CHILD_SUBREAPER = 36
# After SIGKILL only a process that hangs inside the kernel is still there.
KILL_SECONDS = 5.0
LINUX = sys.platform == "linux"


def main() -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a guardian ended
    control = socket.socket(fileno=CONTROL)
    while True:
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 4)
        if not asked:
            return 0
        if len(descriptors) == 4:
            _fork_guardian(control, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _fork_guardian(control: socket.socket, descriptors: list[int]) -> None:
    try:
        if os.fork():
            return
    except OSError:
        return  # the lifeline breaks without a word, and the worker says so
    try:
        control.close()
        _guard(*descriptors)
    finally:
        os._exit(0)


def _guard(lifeline: int, stdin: int, stdout: int, stderr: int) -> None:
    woken = _wake_on_children()
    if LINUX:
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    grace, cwd, command, *environment = _request(lifeline)
    child = _fork_held(
        lambda: _become(command, cwd, environment, (stdin, stdout, stderr)), lifeline
    )
    for descriptor in (stdin, stdout, stderr):
        os.close(descriptor)
    tree = Tree(child, woken)
    while tree.status is None:
        ready, _, _ = select.select([lifeline, woken], [], [])
        if woken in ready:
            os.read(woken, 512)
        tree.reap()
        if lifeline in ready and tree.status is None:
            tree.end(float(grace))
    # Whatever it left running belongs to the run, and ends with it.
    left = 0 if tree.empty else tree.end(float(grace))
    _tell(lifeline, f"{tree.status} {left}\n")


def _fork_held(become: Callable[[], None], lifeline: int) -> int:
    """A child that does nothing before the worker knows its id.

    One that killed its guardian first would be nobody's: the worker could not end it.
    """
    gate, opener = os.pipe()
    child = os.fork()
    if not child:
        os.close(opener)
        if not os.read(gate, 1):
            os._exit(126)  # the guardian died before it had told
        become()
    _tell(lifeline, f"{child}\n")
    os.write(opener, b"!")
    os.close(opener)
    os.close(gate)
    return child


class Tree:
    """A command and all its descendants, as far as this system lets us find them."""

    def __init__(self, child: int, woken: int) -> None:
        self.child = child
        self.status: int | None = None  # as wait() gives it
        self.empty = False
        self._woken = woken

    def reap(self) -> None:
        try:
            while True:
                ended, status = os.waitpid(-1, os.WNOHANG)
                if not ended:
                    return
                if ended == self.child:
                    self.status = status
        except ChildProcessError:
            self.empty = True

    def end(self, grace: float) -> int:
        """SIGTERM to all, SIGKILL to those who are there after the grace. How many there were."""
        found = self._signal(signal.SIGTERM)
        self._signal(signal.SIGCONT)  # a stopped process hears nothing until it goes on
        self._await(time.monotonic() + grace)
        last = time.monotonic() + KILL_SECONDS
        while not self.empty and time.monotonic() < last:
            # Again and again: one that was forked a moment ago is in the next look only.
            self._signal(signal.SIGKILL)
            self._await(min(last, time.monotonic() + 0.05))
        return found

    def _await(self, until: float) -> None:
        self.reap()
        while not self.empty and (left := until - time.monotonic()) > 0:
            if select.select([self._woken], [], [], left)[0]:
                os.read(self._woken, 512)
            self.reap()

    def _signal(self, number: int) -> int:
        # Looked for first: whoever the group's signal ends is to be counted, too.
        members = _descendants() if LINUX else []
        _quietly(os.killpg, self.child, number)
        for member in members:
            _quietly(os.kill, member, number)
        return len(members)


def _descendants() -> list[int]:
    """Of this process, by what /proc says of everybody's parent; those that ended left out."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and (parent := _living_parent(name)):
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    edge = children.get(os.getpid(), [])
    while edge:
        found += edge
        edge = [child for parent in edge for child in children.get(parent, [])]
    return found


def _living_parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib takes 10 ms to import
            # After the name, which may itself have brackets and blanks in it.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == b"Z" else int(parent)


def _quietly(kill: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        kill(target, number)
    except OSError:
        return  # it has ended, or is another user's by now


def _request(lifeline: int) -> list[str]:
    size = int.from_bytes(_read(lifeline, 4), "big")
    return [os.fsdecode(field) for field in _read(lifeline, size).split(b"\0")]


def _read(descriptor: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = os.read(descriptor, size - len(data))
        if not piece:
            os._exit(0)  # the worker died before it had said what to do
        data += piece
    return data


def _wake_on_children() -> int:
    """A descriptor that becomes readable whenever a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def _become(command: str, cwd: str, environment: list[str], streams: tuple[int, int, int]) -> None:
    """Turn into the command: a session of its own, three descriptors, default signals."""
    try:
        signal.set_wakeup_fd(-1)
        # Python ignores SIGPIPE, and a program would inherit that: `yes | head` would complain.
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        os.closerange(3, 65536)
        os.chdir(cwd)
        pairs = dict(pair.split("=", 1) for pair in environment)
        os.execve("/bin/sh", ["sh", "-c", command], pairs)  # noqa: S606
    except OSError as problem:
        os.write(2, f"cannot start: {problem.strerror}\n".encode())
    finally:
        os._exit(126)


def _tell(lifeline: int, line: str) -> None:
    try:
        os.write(lifeline, line.encode())
    except OSError:
        return  # the worker is gone


if __name__ == "__main__":
    sys.exit(main())
