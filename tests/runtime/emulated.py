"""A function under Lambda's runtime emulator: its process, its log, and calls over HTTP."""

import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from infra.aws import assets
from infra.aws.disk import Disk
from infra.local.service import free_port

_HOST: Final = "127.0.0.1"
_START_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.02
_INIT: Final = re.compile(r"INIT REPORT\(durationMs: ([\d.]+)\)")


class FunctionFailed(Exception):
    """What Lambda answers for a function that raised, could not start, or took too long."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(f"{told['errorType']}: {told['errorMessage']}")
        self.kind: str = told["errorType"]
        self.message: str = told["errorMessage"]
        self.told = told


class Emulated:
    """One execution environment: started by the first call, one call at a time."""

    def __init__(
        self,
        program: Path,
        function: str,
        disk: Disk,
        settings: Mapping[str, str],
        *,
        seconds: int = 900,
        log: Path,
    ) -> None:
        self.function = function
        self._log = log
        self._one_at_a_time = threading.Lock()
        port = free_port()
        self._url = f"http://{_HOST}:{port}/2015-03-31/functions/function/invocations"
        command = [
            str(program),
            f"--runtime-interface-emulator-address={_HOST}:{port}",
            f"--runtime-api-address={_HOST}:{free_port()}",
            *disk.python(),
            "-m",
            "awslambdaric",
            assets.entry(function),
        ]
        with log.open("wb") as out:
            self._process = subprocess.Popen(
                command,
                cwd=disk.task,
                env=disk.environment() | lambdas_own(function, seconds) | dict(settings),
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._await_port(port)

    def invoke(self, event: object) -> Any:
        """What the function returned. Raises FunctionFailed."""
        body = json.dumps(event).encode()
        with self._one_at_a_time:
            request = urllib.request.Request(self._url, body)  # noqa: S310 - our own address
            try:
                with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310 - dito
                    return read_answer(answer.read())
            except urllib.error.HTTPError as refused:
                return read_answer(refused.read())

    def cold_start_ms(self) -> float:
        """From starting the interpreter to its asking for the first event."""
        return float(_INIT.findall(self.log())[0])

    def starts(self) -> int:
        return self.log().count("INIT START")

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _await_port(self, port: int) -> None:
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            try:
                socket.create_connection((_HOST, port), timeout=1).close()
            except OSError:
                time.sleep(_LOOK_SECONDS)
            else:
                return
        self._process.kill()
        raise RuntimeError(f"the emulator of {self.function} did not start:\n{self.log()}")


def lambdas_own(function: str, seconds: int) -> dict[str, str]:
    """What Lambda adds to the variables that the stack sets."""
    return {
        "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_TIMEOUT": str(seconds),
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }


def read_answer(body: bytes) -> Any:
    """What a function returned, as JSON. Raises FunctionFailed."""
    try:
        told = json.loads(body)
    except ValueError:  # the emulator says in plain words that time was up
        told = {"errorType": "Sandbox.Timedout", "errorMessage": body.decode()}
    if isinstance(told, dict) and "errorType" in told:
        raise FunctionFailed(told)
    return told
