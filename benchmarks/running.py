"""A stack as `lamplighter up` starts it, for benchmarks: asked over HTTP, watched in /proc."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

START_SECONDS: Final = 180.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_ROOT: Final = Path(__file__).resolve().parent.parent


class Running:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._connection = http.client.HTTPConnection(
            self.state()["url"].removeprefix("http://"), timeout=60
        )

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._data / "stack.json").read_text())
        return found

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's body. Over one connection, which the first request opens."""
        data = None if body is None else json.dumps(body)
        headers = {} if data is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {said.decode()}")
        return json.loads(said)

    def cpu_seconds(self) -> dict[str, float]:
        """What each part has used so far, with its children."""
        state = self.state()
        names = {each["pid"]: each["name"] for each in state["components"] + state["services"]}
        names[state["pid"]] = "up"
        every = dict(_processes())
        used: dict[str, float] = defaultdict(float)
        for pid, (_, seconds) in every.items():
            owner = pid
            while owner in every and owner not in names:
                owner = every[owner][0]
            if owner in names:
                used[names[owner]] += seconds
        return dict(used)


def _processes() -> Iterator[tuple[int, tuple[int, float]]]:
    """Of each process its parent and its CPU time."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        yield int(folder.name), (int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS)


@contextmanager
def running(folder: Path, bus: str) -> Iterator[Running]:
    data, log = folder / "data", folder / "up.log"
    command = [str(Path(sys.executable).with_name("lamplighter")), "up"]
    options = ["--port", "0", "--bus", bus, "--data", str(data)]
    told = {
        "LAMPLIGHTER_HANDLER_MODULES": "benchmarks.noting",
        "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, *options], env={**os.environ, **told}, stdout=said, stderr=said
        )
    try:
        _wait(process, log)
        yield Running(data)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while "Lamplighter is up" not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the stack did not start:\n{log.read_text(errors='replace')}")
        time.sleep(0.05)
