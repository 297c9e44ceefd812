"""Bad targets: each ends with a reason, all at once, and a neighbour starts as if they were not.

On Streams alone: what a worker does with a run does not depend on how it heard of it.
"""

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.stack import Stack, listening, until

pytestmark = pytest.mark.xdist_group("bad-targets")

PROMPT_SECONDS = 5.0
MIB = 1024 * 1024
PYTHON = {"type": "python"}
DETACHED = f"""{sys.executable} -c '
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("PATH", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
'"""


@pytest.fixture(scope="module")
def bad_stack() -> Iterator[Stack]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        environment = {
            "LAMPLIGHTER_HANDLER_MODULES": "tests.e2e.misbehaving",
            "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")]),
        }
        with Stack(Path(folder) / "data", environment=environment) as running:
            yield running
            running.verify()


def _neighbour(stack: Stack, **fields: Any) -> float:
    """How late a job starts that is submitted now."""
    [run] = stack.ended(stack.submit(**fields))
    assert run["status"] == "SUCCESS"
    due, started = (datetime.fromisoformat(run[at]) for at in ("due_at", "start_time"))
    return (started - due).total_seconds()


def _python(stack: Stack, name: str, **fields: Any) -> str:
    target = {**PYTHON, "handler": name}
    return stack.submit(target=target, max_retries=0, **fields)


def test_commands_that_end_badly_say_how(bad_stack: Stack) -> None:
    commands = {
        "exit 137": "137",
        "exit 3": "3",
        "kill -9 $$": "SIGKILL",
        "kill -SEGV $$": "SIGSEGV",
        "/no/such/program": "127",
    }
    jobs = {line: bad_stack.submit(command=line, max_retries=0) for line in commands}

    late = _neighbour(bad_stack, command="true")
    runs = {line: bad_stack.ended(job)[0] for line, job in jobs.items()}

    assert late < PROMPT_SECONDS
    assert {run["status"] for run in runs.values()} == {"FAILED"}
    for line, word in commands.items():
        assert word in runs[line]["error_message"], (line, runs[line]["error_message"])


def test_commands_that_do_not_want_to_end_are_ended(bad_stack: Stack, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    left = {name: tmp_path / name for name in ("after_its_end", "after_its_timeout")}
    detaching = {name: DETACHED.replace("PATH", str(path)) for name, path in left.items()}
    lines = {
        "deaf": "trap '' TERM; while :; do sleep 0.1; done",
        "silent": "exec >&- 2>&-; sleep 600",
        "timed out": detaching["after_its_timeout"] + "; sleep 600",
    }
    jobs = {
        name: bad_stack.submit(command=line, timeout_seconds=6, max_retries=0)
        for name, line in lines.items()
    }
    detached = bad_stack.submit(command=detaching["after_its_end"], max_retries=0)

    late = _neighbour(bad_stack, command="true")
    [ended] = bad_stack.ended(detached)
    runs = {name: bad_stack.ended(job)[0] for name, job in jobs.items()}

    assert late < PROMPT_SECONDS
    assert ended["status"] == "SUCCESS"
    assert {name: run["status"] for name, run in runs.items()} == dict.fromkeys(lines, "TIMED_OUT")
    for path in left.values():
        process = Path("/proc") / path.read_text()
        until(partial(_is_gone, process), f"{path.name} is gone")


def _is_gone(process: Path) -> bool:
    return not process.exists()


def _resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_gigabyte_of_output_costs_no_memory_and_garbage_is_kept_as_text(
    bad_stack: Stack,
) -> None:
    worker = bad_stack.component("worker-1")
    assert worker is not None
    before = _resident(worker)
    flood = bad_stack.submit(command="yes lamplighter | head -c 1073741824", max_retries=0)
    garbage = bad_stack.submit(command="head -c 100000 /dev/urandom; printf '\\0\\377'")

    late = _neighbour(bad_stack, command="true")
    [noisy] = bad_stack.ended(garbage)
    [run] = bad_stack.ended(flood)

    assert late < PROMPT_SECONDS
    assert (run["status"], noisy["status"]) == ("SUCCESS", "SUCCESS")
    assert len(run["stdout"]) < 64 * 1024
    assert "\0" not in noisy["stdout"]
    assert bad_stack.component("worker-1") == worker
    assert _resident(worker) - before < 64 * MIB
    logs = sum(
        path.stat().st_size for path in (bad_stack.data / "runs").rglob("*") if path.is_file()
    )
    assert logs < 300 * MIB


def test_a_handler_ends_its_own_run_and_nothing_else(bad_stack: Stack) -> None:
    executor = bad_stack.component("executor-1")
    words = {
        "bad.exits": "sys.exit(3)",
        "bad.raises": "BaseException",
        "bad.recurses": "RecursionError",
        "bad.answers": "",
        "bad.nobody": "no handler",
    }
    jobs = {name: _python(bad_stack, name) for name in words}

    late = _neighbour(bad_stack)
    runs = {name: bad_stack.ended(job)[0] for name, job in jobs.items()}

    assert late < PROMPT_SECONDS
    for name, word in words.items():
        if name != "bad.answers":
            assert runs[name]["status"] == "FAILED"
            assert word in runs[name]["error_message"]
    assert bad_stack.component("executor-1") == executor


def test_handlers_that_hang_are_left_behind_and_their_process_replaced(bad_stack: Stack) -> None:
    """More than there are places, and past what one process bears."""
    executor = bad_stack.component("executor-1")
    assert executor is not None
    jobs = [_python(bad_stack, "bad.hangs", timeout_seconds=1) for _ in range(40)]

    late = _neighbour(bad_stack)
    runs = [bad_stack.ended(job)[0] for job in jobs]

    assert {run["status"] for run in runs} == {"TIMED_OUT"}
    assert all("timed out after 1 s" in run["error_message"] for run in runs)
    # All places hang until their timeout; then the process makes room for another.
    bad_stack.replaced("executor-1", executor)
    assert late < 4 * PROMPT_SECONDS


class _Odd(BaseHTTPRequestHandler):
    """Answers as its path says."""

    def do_POST(self) -> None:
        with suppress(OSError):
            getattr(self, "answer_" + self.path.strip("/"))()

    def answer_round(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.path)
        self.end_headers()

    def answer_endless(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"x" * 65536)

    def log_message(self, *_: object) -> None:
        """Not in the test's output."""


@contextmanager
def _deaf() -> Iterator[int]:
    """Accepts, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_web_servers_that_misbehave_fail_their_own_run(bad_stack: Stack) -> None:
    with listening(_Odd) as url, _deaf() as port:
        urls = {
            "deaf": f"http://127.0.0.1:{port}/",
            "deaf to TLS": f"https://127.0.0.1:{port}/",
            "no TLS": url.replace("http", "https"),
            "round and round": f"{url}/round",
            "endless": f"{url}/endless",
            "nobody": "http://127.0.0.1:1/",
            "no such name": "http://nobody.invalid/",
            "metadata": "http://169.254.169.254/latest/meta-data/",
        }
        jobs = {
            name: bad_stack.submit(
                target={"type": "http", "url": at}, timeout_seconds=2, max_retries=0
            )
            for name, at in urls.items()
        }
        late = _neighbour(bad_stack)
        runs = {name: bad_stack.ended(job)[0] for name, job in jobs.items()}

    assert late < PROMPT_SECONDS
    states = {name: run["status"] for name, run in runs.items()}
    assert (states.pop("deaf"), states.pop("deaf to TLS")) == ("TIMED_OUT", "TIMED_OUT")
    endless = runs.pop("endless")
    assert states.pop("endless") in {"SUCCESS", "FAILED", "TIMED_OUT"}
    assert len(str(endless.get("result"))) < 64 * 1024
    assert set(states.values()) == {"FAILED"}, states
    assert "302" in runs["round and round"]["error_message"]
    assert all(run["error_message"] for run in runs.values())
