"""A process that stands between a service and whoever started it, and outlives only the latter.

    python -I -S guardian.py <signal> <grace seconds> <uid or -> <gid or -> <command …>

Standard input is one end of a socket pair; the starter holds the other. When the starter closes
its end or dies, however it dies, the guardian reads end-of-file and stops the service: <signal>
first, SIGKILL after the grace. The death signal that Linux offers instead is tied to the thread
that forked and exists on no other system.

Only `os`, `select`, `signal`, `sys` and `time`: there is one of these per service, and this way it
starts in 20 ms and stays small.
"""

import os
import select
import signal
import sys
import time

STARTER = 0
# What lies between belongs to the guardian alone: the folder's lock, for one.
OWN_DESCRIPTORS = (3, 65536)


def main(arguments: list[str]) -> int:
    """Start the command, tell the starter its process id, and watch both until one ends."""
    stop_signal, grace, uid, gid, *command = arguments
    woken = _wake_on_signals()
    child = _spawn(command, _number(uid), _number(gid))
    _tell(f"{child}\n")
    while (status := _reap(child)) is None:
        ready, _, _ = select.select([STARTER, woken], [], [])
        if STARTER in ready or _told_to_stop(woken):
            return _stop(child, int(stop_signal), float(grace))
    return status


def _wake_on_signals() -> int:
    """Readable after SIGCHLD and SIGTERM. Ctrl-C is the starter's affair, and ignored."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, _do_nothing)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return reader


def _do_nothing(*_: object) -> None:
    """A handler has to exist for the wake-up descriptor to be written."""


def _tell(line: str) -> None:
    try:
        os.write(STARTER, line.encode())
    except OSError:
        # The starter is dead already; the next read of its end says so, and the service is stopped.
        return


def _told_to_stop(woken: int) -> bool:
    return signal.SIGTERM in os.read(woken, 64)


def _spawn(command: list[str], uid: int | None, gid: int | None) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _become(command, uid, gid)
    except OSError as problem:
        os.write(2, f"cannot run {command[0]}: {problem.strerror}\n".encode())
    os._exit(127)


def _become(command: list[str], uid: int | None, gid: int | None) -> None:
    """Turn this process into the service: default signals, no lifeline, the right user."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STARTER)
    os.closerange(*OWN_DESCRIPTORS)
    if gid is not None:
        os.setgroups([])
        os.setgid(gid)
    if uid is not None:
        os.setuid(uid)
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


def _stop(child: int, stop_signal: int, grace: float) -> int:
    os.kill(child, stop_signal)
    deadline = time.monotonic() + grace
    while (status := _reap(child)) is None:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    return status


def _reap(child: int) -> int | None:
    """The exit code of a child that has ended, as a shell would give it; None while it lives."""
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _number(text: str) -> int | None:
    return None if text == "-" else int(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
