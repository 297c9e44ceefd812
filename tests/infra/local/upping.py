"""`lamplighter up` in another process, as a person types it."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.infra.local import stand_in
from tests.infra.local.waiting import wait_until

PROGRAM = Path(sys.executable).with_name("lamplighter")
REAL = (str(PROGRAM), "up")
SMALL = (sys.executable, str(Path(stand_in.__file__)), "up")
START_SECONDS = 120


class Up:
    """A running `up` and what it has said so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", output: Path, data: Path) -> None:
        self.process = process
        self.data = data
        self._output = output

    @property
    def said(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        def there() -> bool:
            return text in self.said or self.process.poll() is not None

        wait_until(there, text, START_SECONDS)
        assert text in self.said, self.said

    def ends(self) -> int:
        return self.process.wait(START_SECONDS)

    def ports(self) -> dict[str, int]:
        found = re.findall(r"^  (\w+) +ready.*?:(\d+)\b", self.said, re.MULTILINE)
        return {name: int(port) for name, port in found}

    @property
    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self.data / "stack.json").read_bytes())
        return state

    def pid(self, name: str) -> int | None:
        parts = [*self.state["components"], *self.state["services"]]
        [pid] = [each["pid"] for each in parts if each["name"] == name]
        assert pid is None or isinstance(pid, int)
        return pid


@contextmanager
def running(
    folder: Path, *options: str, told: Mapping[str, str] | None = None, real: bool = False
) -> Iterator[Up]:
    output = folder / "said"
    port = () if "--port" in options else ("--port", "0")
    with output.open("wb") as file:
        process = subprocess.Popen(
            [*(REAL if real else SMALL), *port, *options],
            cwd=folder, env={**os.environ, **(told or {})}, stdout=file, stderr=file,
        )  # fmt: skip
    try:
        yield Up(process, output, folder / ".lamplighter")
    finally:
        # Whatever the test found, its services end with their starter.
        process.kill()
        process.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def processes_in(folder: Path) -> list[str]:
    listing = subprocess.check_output(["ps", "-ww", "-eo", "pid,args"], text=True)
    return [line for line in listing.splitlines() if f"{folder}/" in line]
