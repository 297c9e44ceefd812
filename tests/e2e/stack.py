"""A whole stack, started as a person starts it, and what a test does with one.

Everything goes through `lamplighter up` and HTTP; the ledger is looked into by the checker alone.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from lamplighter.adapters.kafka.bus import KafkaBus
from lamplighter.adapters.kafka.config import KafkaAccess
from lamplighter.adapters.streams.bus import StreamsBus
from lamplighter.ports.bus import Bus

T = TypeVar("T")

PATIENCE: Final = 60.0
START: Final = 180.0
LOOK: Final = 0.02
FINAL: Final = frozenset({"SUCCESS", "FAILED", "TIMED_OUT", "CANCELLED", "SKIPPED"})
LAMPLIGHTER: Final = Path(sys.executable).with_name("lamplighter")
SLEEP: Final = {"type": "python", "handler": "builtin.sleep"}
FAIL: Final = {"type": "python", "handler": "builtin.fail"}


def soon(seconds: float) -> str:
    """So long from now, as a body says it."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()


def instant(shown: str) -> datetime:
    return datetime.fromisoformat(shown)


def until(found: Callable[[], T | None], what: str, seconds: float = PATIENCE) -> T:
    """Wait for a condition: what it answers once that is neither None nor False."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = found()
        if answer is not None and answer is not False:
            return answer
        time.sleep(LOOK)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.text = response.read().decode()

    @property
    def body(self) -> Any:
        return json.loads(self.text)


class Stack:
    """`lamplighter up` in a process of its own. `data` outlives it: start another on the same."""

    def __init__(
        self,
        data: Path,
        *arguments: str,
        bus: str = "streams",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data = data
        self.bus = bus
        self._log = data.parent / f"{data.name}.up.log"
        self._began = len(self.said())  # another may have said something before, on the same data
        command = [str(LAMPLIGHTER), "up", "--port", "0", "--bus", bus, "--data", str(data)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *arguments],
                env={**os.environ, **(environment or {})},
                stdout=log,
                stderr=log,
            )
        try:
            self.state: dict[str, Any] = until(self._started, "up", START)
        except AssertionError as late:
            self.stop()
            raise AssertionError(f"{late}:\n{self.said()}") from late

    def _started(self) -> dict[str, Any] | None:
        if self._process.poll() is not None:
            raise AssertionError(f"up has ended by itself:\n{self.said()}")
        return self._read() if "Lamplighter is up" in self.said()[self._began :] else None

    def _read(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data / "stack.json").read_text())
        return found

    def said(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    # What is in it

    def component(self, name: str) -> int | None:
        """Its process id; None while it is down."""
        self.state = self._read()
        every = self.state["components"] + self.state["services"]
        return next((each["pid"] for each in every if each["name"] == name), None)

    def service_url(self, name: str) -> str:
        return next(str(each["url"]) for each in self.state["services"] if each["name"] == name)

    @property
    def database_url(self) -> str:
        """`stack.json` names the database that the ledger is in."""
        return self.service_url("postgres")

    @contextmanager
    def bus_client(self) -> Iterator[Bus]:
        """For who sends what no function of ours would."""
        bus: Bus = (
            KafkaBus(KafkaAccess(self.service_url("kafka")))
            if self.bus == "kafka"
            else StreamsBus(self.service_url("valkey"))
        )
        with closing(bus):
            yield bus

    def kill(self, name: str, number: int = signal.SIGKILL) -> int:
        """Crash a component or service, as a power cut would; the stack starts it again.

        One that has just ended by itself may still be noted: then its successor is meant.
        """

        def struck() -> int | None:
            pid = self.component(name)
            with suppress(ProcessLookupError):
                if pid is not None:
                    os.kill(pid, number)
                    return pid
            return None

        return until(struck, f"{name} is there to be killed")

    def replaced(self, name: str, old: int) -> int:
        """Its new process id, once it runs again."""
        return until(
            lambda: pid if (pid := self.component(name)) not in {None, old} else None,
            f"{name} runs again",
        )

    # Over HTTP

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        host = self.state["url"].removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        try:
            data = None if body is None else json.dumps(body)
            sent = {"Content-Type": "application/json"} if data is not None else {}
            connection.request(method, path, data, {**sent, **(headers or {})})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer.text
        return answer.body

    def submit(self, **body: Any) -> str:
        """The id of a new job; one that runs at once unless the body says otherwise."""
        if "after" not in body:
            body.setdefault("schedule_type", "IMMEDIATE")
        answer = self.ask("POST", "/jobs", {"name": "a job", **body})
        assert answer.status == 201, answer.text
        return str(answer.body["job_id"])

    def runs(self, job_id: str) -> list[dict[str, Any]]:
        """Newest fire first, as `GET /jobs/{id}/runs` has them."""
        found: list[dict[str, Any]] = self.get(f"/jobs/{job_id}/runs?limit=500")
        return found

    def run(self, run_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/runs/{run_id}")
        return found

    def in_state(self, job_id: str, *states: str, count: int = 1) -> list[dict[str, Any]]:
        """At least so many of its runs in one of these states, whole, oldest first."""

        def look() -> list[dict[str, Any]] | None:
            found = [run for run in self.runs(job_id) if run["status"] in states]
            return found[::-1] if len(found) >= count else None

        found = until(look, f"{count} runs of {job_id} in {states}: {self.runs(job_id)}")
        return [self.run(run["run_id"]) for run in found]

    def ended(self, job_id: str, count: int = 1) -> list[dict[str, Any]]:
        return self.in_state(job_id, *FINAL, count=count)

    def in_run_state(self, run_id: str, *states: str) -> dict[str, Any]:
        """This run, once it is in one of these states."""
        return until(
            lambda: run if (run := self.run(run_id))["status"] in states else None,
            f"run {run_id} in {states}: {self.run(run_id)}",
        )

    def cancel(self, *jobs: str) -> None:
        for job_id in jobs:
            answer = self.ask("DELETE", f"/jobs/{job_id}")
            assert answer.status == 200, answer.text

    def explain(self, job_id: str) -> str:
        return str(self.get(f"/jobs/{job_id}/explain")["explanation"])

    # By the command line

    def dead_letters(self, *options: str) -> list[dict[str, Any]]:
        """What `lamplighter redrive` says: of what it has given back, or with `--list` would."""
        command = [str(LAMPLIGHTER), "redrive", "--json", "--data", str(self.data), *options]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        found: list[dict[str, Any]] = json.loads(ran.stdout)
        return found

    # At the end

    def verify(self, grace: str = "30s") -> None:
        """The checker finds nothing in anything that ever happened here.

        What was due so long ago and nobody has begun is stuck: the shorter, the more that says.
        Who is still recovering when it is asked needs a longer one.
        """
        command = [str(LAMPLIGHTER), "verify", "--data", str(self.data)]
        checked = subprocess.run(
            [*command, "--since", "1d", "--grace", grace],
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def listening(handler: type[Any], port: int = 0) -> Iterator[str]:
    """The URL of a small HTTP server of the test's own."""
    import threading
    from http.server import ThreadingHTTPServer

    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
