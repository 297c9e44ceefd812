"""Tools that prepare a folder, and a starter that is killed while one of them is at work."""

import signal
import subprocess
import sys
from pathlib import Path

from infra.local.child import Command, run_to_end
from infra.local.folder import FolderLock
from tests.infra.local.waiting import gone, wait_until

# Deaf to the first signal, so that there is a while in which it lives and its starter does not.
TOOL = "trap '' TERM INT; echo $$; exec sleep 60"
STARTER = f"""
import sys
from pathlib import Path
from infra.local.child import Command, run_to_end
from infra.local.folder import FolderLock
folder = Path(sys.argv[1])
lock = FolderLock(folder, wait_seconds=0)
lock.take()
tool = Command(["/bin/sh", "-c", "{TOOL}"], {{"PATH": "/bin:/usr/bin"}}, grace_seconds=0.5)
run_to_end(tool, log=folder / "log", lock=lock.descriptor)
"""


def test_a_folder_stays_taken_until_the_tool_of_a_killed_starter_has_ended(folder: Path) -> None:
    log, next_one = folder / "log", FolderLock(folder, wait_seconds=30)
    with subprocess.Popen([sys.executable, "-c", STARTER, str(folder)]) as starter:
        wait_until(lambda: log.exists() and log.read_bytes().endswith(b"\n"), "the tool to begin")
        starter.send_signal(signal.SIGKILL)
    tool = int(log.read_text(encoding="ascii"))

    next_one.take()

    assert gone(tool)
    next_one.release()


def test_a_tool_answers_with_its_exit_code_and_writes_into_the_log(folder: Path) -> None:
    lock = FolderLock(folder, wait_seconds=0)
    lock.take()
    command = Command(["/bin/sh", "-c", "echo made; exit 3"], {})

    assert run_to_end(command, log=folder / "log", lock=lock.descriptor) == 3

    assert (folder / "log").read_text(encoding="ascii") == "made\n"
    lock.release()
