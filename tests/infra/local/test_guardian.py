"""The guardian, with small programs in place of servers."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from infra.local.child import Child, Command
from infra.local.errors import ServiceFailed
from infra.local.folder import FolderLock
from tests.infra.local.waiting import gone, wait_until

# Says that its handler is in place, and then lives until it is told otherwise.
PATIENT = """
import signal, sys
signal.signal(signal.SIGINT, lambda *_: (print("asked", flush=True), sys.exit(0)))
print("ready", flush=True)
while True: signal.pause()
"""
STUBBORN = """
import signal
for number in (signal.SIGINT, signal.SIGTERM): signal.signal(number, signal.SIG_IGN)
print("ready", flush=True)
while True: signal.pause()
"""


def _start(program: str, folder: Path, *, grace: float = 10.0) -> Child:
    lock = FolderLock(folder, wait_seconds=0)
    lock.take()
    arguments = [sys.executable, "-c", program]
    command = Command(arguments, {"FROM": "here"}, stop_signal=signal.SIGINT, grace_seconds=grace)
    child = Child(command, log=folder / "log", lock=lock.descriptor)
    # Only the guardian holds the folder from here on.
    os.close(lock.descriptor)
    return child


def _wait_for(line: str, folder: Path) -> None:
    log = folder / "log"
    wait_until(lambda: line in log.read_text(encoding="utf-8").split(), f"{line} in the log")


def test_a_program_is_asked_with_its_own_signal(folder: Path) -> None:
    child = _start(PATIENT, folder)
    _wait_for("ready", folder)
    assert child.running()

    child.stop()

    assert gone(child.pid)
    assert not child.running()
    assert "asked" in (folder / "log").read_text(encoding="utf-8")


def test_a_program_that_does_not_listen_is_killed_after_its_grace(folder: Path) -> None:
    child = _start(STUBBORN, folder, grace=0.3)
    _wait_for("ready", folder)
    began = time.monotonic()

    child.stop()

    assert gone(child.pid)
    assert time.monotonic() - began >= 0.3


def test_an_ended_program_ends_its_guardian(folder: Path) -> None:
    child = _start("raise SystemExit(3)", folder)

    wait_until(lambda: not child.running(), "the guardian's end")

    assert child._guardian.returncode == 3
    child.stop()


def test_a_program_that_does_not_exist_is_named_in_the_log(folder: Path) -> None:
    with (folder / "lock").open("w") as lock:
        child = Child(Command(["/no/such"], {}), log=folder / "log", lock=lock.fileno())
        wait_until(lambda: not child.running(), "the guardian's end")
        child.stop()

    assert "cannot run /no/such" in (folder / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_guardian_ignores_what_the_terminal_sends(number: int, folder: Path) -> None:
    child = _start(PATIENT, folder)
    _wait_for("ready", folder)
    guardian = child._guardian.pid

    assert os.getsid(guardian) != os.getsid(0)
    os.kill(guardian, number)

    # The signal is there before the end-of-file is: a guardian that it had hurt would not end well.
    child.stop()
    assert child._guardian.returncode == 0
    assert gone(child.pid)


def test_a_guardian_that_is_terminated_stops_its_program_first(folder: Path) -> None:
    child = _start(PATIENT, folder)
    _wait_for("ready", folder)

    os.kill(child._guardian.pid, signal.SIGTERM)

    wait_until(lambda: not child.running(), "the guardian's end")
    assert gone(child.pid)
    assert "asked" in (folder / "log").read_text(encoding="utf-8")
    child.stop()


def test_the_folder_stays_taken_until_the_program_has_ended(folder: Path) -> None:
    child = _start(PATIENT, folder)
    _wait_for("ready", folder)
    lock = FolderLock(folder, wait_seconds=0)

    assert not _can_take(lock)
    child.stop()
    assert _can_take(lock)
    lock.release()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_copy_of_the_starter_does_not_keep_the_program_alive(folder: Path) -> None:
    child = _start(PATIENT, folder)
    _wait_for("ready", folder)
    reader, writer = os.pipe()
    copy = os.fork()
    if copy == 0:
        # Without its own writing end, the copy ends with the test, however that ends.
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)

    child.stop()

    assert gone(child.pid)
    os.write(writer, b".")
    os.waitpid(copy, 0)
    os.close(reader)
    os.close(writer)


def test_a_program_inherits_nothing_but_its_log(folder: Path) -> None:
    listing = "import os; print('fds', *sorted(os.listdir('/dev/fd'))); print(dict(os.environ))"
    child = _start(listing, folder)
    wait_until(lambda: not child.running(), "the program's end")
    child.stop()

    said = (folder / "log").read_text(encoding="utf-8")
    # The fourth is the listing's own.
    assert "fds 0 1 2 3\n" in said
    assert "HOME" not in said
    assert "'FROM': 'here'" in said


def _can_take(lock: FolderLock) -> bool:
    try:
        lock.take()
    except ServiceFailed:
        return False
    return True
