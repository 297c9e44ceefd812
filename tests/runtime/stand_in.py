"""Lambda's Runtime API in a few lines, for machines that the emulator has no program for.

It keeps what our functions rely on: one call at a time, errors as Lambda's JSON, a process that is
killed when its time is up, and a fresh one for the next call.
"""

import json
import queue
import subprocess
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from infra.aws import assets
from infra.aws.disk import Disk
from tests.runtime.emulated import lambdas_own, read_answer

_HOST: Final = "127.0.0.1"
_LOOK_SECONDS: Final = 0.02


class StandIn:
    """One execution environment after the other, each with a Runtime API of its own."""

    def __init__(
        self, function: str, disk: Disk, settings: Mapping[str, str], *, seconds: int, log: Path
    ) -> None:
        self.function = function
        self._command = [*disk.python(), "-m", "awslambdaric", assets.entry(function)]
        self._environment = disk.environment() | lambdas_own(function, seconds) | dict(settings)
        self._task = disk.task
        self._seconds = seconds
        self._log = log
        self._one_at_a_time = threading.Lock()
        self._apis: list[_Api] = []
        self._process: subprocess.Popen[bytes] | None = None

    def invoke(self, event: object) -> Any:
        """What the function returned. Raises FunctionFailed."""
        with self._one_at_a_time:
            process = self._process or self._start()
            self._apis[-1].events.put(json.dumps(event).encode())
            return read_answer(self._answer(process, self._apis[-1]))

    def cold_start_ms(self) -> float:
        """From starting the interpreter to its asking for the first event."""
        return self._apis[0].cold_start_ms

    def starts(self) -> int:
        return len(self._apis)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        self._end()
        for api in self._apis:
            api.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        self._apis.append(_Api(self._seconds))
        with self._log.open("ab") as out:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._task,
                env=self._environment | {"AWS_LAMBDA_RUNTIME_API": self._apis[-1].address},
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        return self._process

    def _answer(self, process: "subprocess.Popen[bytes]", api: "_Api") -> bytes:
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            ended = process.poll() is not None
            try:
                return api.answers.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                if ended:
                    self._end()
                    return _failure("Runtime.ExitError", f"exit status {process.returncode}")
        self._end()
        return _failure("Sandbox.Timedout", f"Task timed out after {self._seconds:.2f} seconds")

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class _Api:
    def __init__(self, seconds: int) -> None:
        self.events: queue.Queue[bytes] = queue.Queue()
        self.answers: queue.Queue[bytes] = queue.Queue()
        self.cold_start_ms = 0.0
        self._seconds = seconds
        self._began = time.monotonic()
        self._server = ThreadingHTTPServer((_HOST, 0), self._handler())
        self._server.daemon_threads = True
        self.address = f"{_HOST}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_event(self) -> tuple[bytes, dict[str, str]]:
        self.cold_start_ms = self.cold_start_ms or 1000 * (time.monotonic() - self._began)
        event = self.events.get()
        return event, {
            "Lambda-Runtime-Aws-Request-Id": str(uuid4()),
            "Lambda-Runtime-Deadline-Ms": str(round((time.time() + self._seconds) * 1000)),
            "Lambda-Runtime-Trace-Id": "Root=1-5e6722a7-cc5600000000000000000000",
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:local:000000000000:function:it",
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # the runtime's client keeps its connection

            def do_GET(self) -> None:
                """`/2018-06-01/runtime/invocation/next`: waits until there is one."""
                event, headers = api.next_event()
                self._send(200, headers, event)

            def do_POST(self) -> None:
                """`…/invocation/<id>/response`, `…/invocation/<id>/error` or `…/init/error`."""
                api.answers.put(self.rfile.read(int(self.headers["Content-Length"])))
                self._send(202, {}, b"")

            def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
                self.send_response(status)
                own = {"Content-Type": "application/json", "Content-Length": str(len(body))}
                for name, value in {**headers, **own}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Nobody reads it."""

        return Handler


def _failure(kind: str, message: str) -> bytes:
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
