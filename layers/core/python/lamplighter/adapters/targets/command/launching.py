"""The worker's side of the keeper: start a command, follow its output, learn how it ended."""

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from typing import IO, Final

import msgspec

from lamplighter.adapters.targets.command import keeper
from lamplighter.ports.target import Sink, TargetFailed

_CHUNK: Final = 64 * 1024
_PIPE_BYTES: Final = 256 * 1024
_F_SETPIPE_SZ: Final = 1031


class Request(msgspec.Struct, frozen=True):
    command: str
    cwd: str
    environment: Mapping[str, str]
    grace_seconds: float

    def packed(self) -> bytes:
        """NUL between the fields. None may have one inside, nor what no program can be given."""
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        fields = [str(self.grace_seconds), self.cwd, self.command, *pairs]
        try:
            body = b"\0".join(os.fsencode(field) for field in fields)
        except UnicodeEncodeError:
            raise TargetFailed("a variable is no valid text", retryable=False) from None
        if body.count(b"\0") >= len(fields):
            raise TargetFailed("a variable has a NUL character in it", retryable=False)
        return len(body).to_bytes(4, "big") + body


class Ended(msgspec.Struct, frozen=True):
    exit_code: int  # 128 + n where signal n ended it, as a shell says it
    left_running: int  # processes that it left behind, and that were ended


class Process:
    """A running command. One thread follows it; any may stop it."""

    def __init__(self, lifeline: socket.socket, stdout: int, stderr: int) -> None:
        self._lifeline = lifeline
        self._outputs = (stdout, stderr)
        self._lock = threading.Lock()
        self._told = b""

    def stop(self) -> None:
        with self._lock, contextlib.suppress(OSError):
            self._lifeline.send(b"s", socket.MSG_DONTWAIT)

    def follow(self, stdout: Sink, stderr: Sink) -> Ended:
        """Pass on what it prints until it, and all that it started, has ended."""
        sinks = dict(zip(self._outputs, (stdout, stderr), strict=True))
        with selectors.DefaultSelector() as ready:
            ready.register(self._lifeline, selectors.EVENT_READ)
            for descriptor in sinks:
                ready.register(descriptor, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fileobj is self._lifeline:
                        if not self._listen():
                            _drain(sinks)
                            return self._ended()
                    elif not _pass_on(key.fd, sinks[key.fd]):
                        ready.unregister(key.fd)

    def close(self) -> None:
        """Ends the command too, if it runs: its guardian sees the lifeline break."""
        with self._lock:
            self._lifeline.close()
        for descriptor in self._outputs:
            os.close(descriptor)

    def _listen(self) -> bool:
        heard = self._lifeline.recv(256)
        self._told += heard
        return bool(heard)

    def _ended(self) -> Ended:
        child, _, ending = self._told.partition(b"\n")
        if not ending:
            if child:  # nobody else is left to end it
                with contextlib.suppress(OSError):
                    os.killpg(int(child), signal.SIGKILL)
            raise TargetFailed("the command's guardian died, or could not be started")
        status, left = ending.split()
        code = os.waitstatus_to_exitcode(int(status))
        return Ended(code if code >= 0 else 128 - code, int(left))


class Keeper:
    """Starts commands through one helper process, which is started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._let_go: weakref.finalize[..., Keeper] | None = None

    def launch(self, request: Request, stdin: IO[bytes]) -> Process:
        packed = request.packed()
        near, far = socket.socketpair()
        out, out_end = _pipe()
        err, err_end = _pipe()
        process = Process(near, out, err)
        try:
            self._ask([far.fileno(), stdin.fileno(), out_end, err_end])
        except OSError as problem:
            process.close()
            raise TargetFailed(f"the worker cannot start processes: {problem}") from None
        finally:
            far.close()
            os.close(out_end)
            os.close(err_end)
        # Where the guardian died already, following it says so.
        with contextlib.suppress(OSError):
            near.sendall(packed)
        return process

    def _ask(self, descriptors: list[int]) -> None:
        with self._lock:
            if self._control is None:
                self._begin()
            try:
                self._send(descriptors)
            except OSError:  # somebody killed it; a new one does as well
                self._begin()
                self._send(descriptors)

    def _send(self, descriptors: list[int]) -> None:
        if self._control is not None:
            socket.send_fds(self._control, [b"!"], descriptors)

    def _begin(self) -> None:
        if self._let_go is not None:
            self._let_go()
        self._control, far = socket.socketpair()
        with far:
            helper = subprocess.Popen(
                [sys.executable, "-I", "-S", keeper.__file__],
                stdin=far.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,
            )
        self._let_go = weakref.finalize(self, _dismiss, self._control, helper)


def _dismiss(control: socket.socket, helper: "subprocess.Popen[bytes]") -> None:
    control.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        helper.wait(1)


def _pipe() -> tuple[int, int]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    if keeper.LINUX:
        import fcntl

        # Fewer, larger reads. A user has a budget for pipes; without it they are just smaller.
        with contextlib.suppress(OSError):
            fcntl.fcntl(reader, _F_SETPIPE_SZ, _PIPE_BYTES)
    return reader, writer


def _pass_on(descriptor: int, sink: Sink) -> bool:
    """False at the end of the stream."""
    try:
        data = os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return True
    if data:
        sink.write(data)
    return bool(data)


def _drain(sinks: Mapping[int, Sink]) -> None:
    """What is still in the pipes. One that something else keeps open is not waited for."""
    for descriptor, sink in sinks.items():
        with contextlib.suppress(BlockingIOError):
            while data := os.read(descriptor, _CHUNK):
                sink.write(data)
