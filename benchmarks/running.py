"""A stack as `lamplighter up` starts it, for benchmarks: asked over HTTP, watched in /proc."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import marks
from infra.local.embedded import DATABASE
from infra.local.postgres import Postgres
from infra.local.tools import KAFKA_TOOLS, missing
from lamplighter.adapters.postgres.migrate import migrate

START_SECONDS: Final = 180.0
STOP_SECONDS: Final = 60.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")
# The gateway closes a connection that was idle for half a minute.
_KEPT_SECONDS: Final = 2.0
_ROOT: Final = Path(__file__).resolve().parent.parent
_LAMPLIGHTER: Final = str(Path(sys.executable).with_name("lamplighter"))


class Running:
    def __init__(self, data: Path) -> None:
        self._data = data
        self.marks = data.parent / "marks"
        self.host = self.state()["url"].removeprefix("http://")
        self._connection = http.client.HTTPConnection(self.host, timeout=60)
        self._asked_at = 0.0

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._data / "stack.json").read_text())
        return found

    def service_url(self, name: str) -> str:
        return next(str(each["url"]) for each in self.state()["services"] if each["name"] == name)

    @property
    def database_url(self) -> str:
        return self.service_url("postgres")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's body. Over one connection, which the first request opens."""
        return self.send(method, path, None if body is None else json.dumps(body).encode())

    def send(self, method: str, path: str, data: bytes | None) -> Any:
        """The same, with a body that was encoded before."""
        headers = {} if data is None else {"Content-Type": "application/json"}
        if time.monotonic() > self._asked_at + _KEPT_SECONDS:
            self._connection.close()
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        self._asked_at = time.monotonic()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {said.decode()}")
        return json.loads(said)

    def close(self) -> None:
        self._connection.close()

    def starts(self, since: float = 0.0) -> list[marks.Start]:
        """What `bench.mark` wrote down of fires from then on."""
        return [start for start in marks.read(self.marks) if start.fire >= since]

    def cpu_seconds(self) -> dict[str, float]:
        """What each part has used so far, with its children, also those that have ended."""
        used: dict[str, float] = defaultdict(float)
        for owner, _, seconds in self._parts():
            used[owner] += seconds
        return dict(used)

    def memory(self) -> dict[str, float]:
        """Megabytes (PSS) of each part, without Kafka and without the buffers of PostgreSQL."""
        used: dict[str, float] = defaultdict(float)
        for owner, pid, _ in self._parts():
            if owner != "kafka":
                used[owner] += _proportional_kb(pid, shared=owner != "postgres") / 1000
        return dict(used)

    def _parts(self) -> Iterator[tuple[str, int, float]]:
        """Of each process here that belongs to the stack: to which part, its id, its CPU time."""
        state = self.state()
        names = {each["pid"]: each["name"] for each in state["components"] + state["services"]}
        names[state["pid"]] = "up"
        every = dict(_processes())
        for pid, (_, seconds) in every.items():
            owner = pid
            while owner in every and owner not in names:
                owner = every[owner][0]
            if owner in names:
                yield names[owner], pid, seconds

    def verify(self, since: datetime, until: datetime) -> dict[str, Any]:
        """The report of `lamplighter verify` over these fires."""
        window = ["--since", since.isoformat(), "--until", until.isoformat()]
        checked = subprocess.run(
            [_LAMPLIGHTER, "verify", "--data", str(self._data), "--json", *window],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if checked.returncode not in {0, 1}:
            raise RuntimeError(checked.stdout + checked.stderr)
        report: dict[str, Any] = json.loads(checked.stdout)
        return report


def _processes() -> Iterator[tuple[int, tuple[int, float]]]:
    """Of each process its parent and its CPU time, with that of children that it has buried."""
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        yield int(folder.name), (int(fields[1]), sum(map(int, fields[11:15])) / _TICKS)


def _proportional_kb(pid: int, *, shared: bool) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0  # it has just ended
    found = {line.split()[0]: int(line.split()[1]) for line in text.splitlines()[1:]}
    return found["Pss:"] - (0 if shared else found["Pss_Shmem:"])


@contextmanager
def running(folder: Path, bus: str) -> Iterator[Running]:
    data, log = folder / "data", folder / "up.log"
    (folder / "marks").mkdir(exist_ok=True)
    options = ["--port", "0", "--bus", bus, "--data", str(data)]
    told = {
        "LAMPLIGHTER_HANDLER_MODULES": "benchmarks.noting",
        marks.FOLDER: str(folder / "marks"),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            [_LAMPLIGHTER, "up", *options], env={**os.environ, **told}, stdout=said, stderr=said
        )
    try:
        _wait(process, log)
        with closing(Running(data)) as stack:
            yield stack
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(STOP_SECONDS)


@contextmanager
def filled(bus: str, fill: Callable[[str], None]) -> Iterator[Running]:
    """One whose ledger was filled before it started: `fill` gets the address of the database."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        with Postgres(Path(folder) / "data" / Postgres.name) as server:
            url = server.ensure_database(DATABASE)
            migrate(url)
            fill(url)
        with running(Path(folder), bus) as stack:
            yield stack


@contextmanager
def fresh(bus: str) -> Iterator[Running]:
    """One of its own, with nothing in it."""
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        running(Path(folder), bus) as stack,
    ):
        yield stack


def absent(bus: str) -> str:
    """Why there is no such bus here; nothing where there is."""
    tools = missing(KAFKA_TOOLS) if bus == "kafka" else []
    return "; ".join(tool.advice for tool in tools)


def until(found: Callable[[], bool], what: str, seconds: float, look: float = 0.1) -> None:
    end = time.monotonic() + seconds
    while not found():
        if time.monotonic() > end:
            raise RuntimeError(f"not within {seconds:g} s: {what}")
        time.sleep(look)


def _wait(process: "subprocess.Popen[bytes]", log: Path) -> None:
    def is_up() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the stack did not start:\n{log.read_text(errors='replace')}")
        return "Lamplighter is up" in log.read_text(errors="replace")

    until(is_up, f"the stack is up, see {log}", START_SECONDS, look=0.05)
