"""A command has its worker's user. It learns nothing of the worker by that."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")

# A worker, and what its command would type to see the worker's variables. Root sees everything of
# everybody; whoever gives that up is as hidden already, and has to be shown again first.
_WORKER = """
import ctypes, os, subprocess
from lamplighter.adapters.targets.command.privacy import keep_to_oneself
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
{first}
line = f"cat /proc/{{os.getpid()}}/environ; echo; cat /proc/self/environ"
subprocess.run(["/bin/sh", "-c", line], env={{"MINE": "own"}}, cwd="/")
"""


def _seen(first: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _WORKER.format(first=first)],
        env={"PYTHONPATH": ":".join(sys.path), "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "MINE=own" in done.stdout, done.stderr
    return done.stdout


def test_a_worker_that_keeps_to_itself_shows_its_commands_no_variables() -> None:
    assert "/secret" in _seen("")
    assert "/secret" not in _seen("keep_to_oneself()")
