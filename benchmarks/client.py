"""An HTTP client that costs next to nothing: requests are bytes, made beforehand.

One thread, a number of connections, one request under way on each. All it looks at is the status
and the end of the answer.
"""

import re
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Final, NamedTuple

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNK: Final = 65_536
_PATIENCE_SECONDS: Final = 60.0


def request(host: str, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Answered(NamedTuple):
    """How many a second, and how long each took, in seconds."""

    per_second: float
    took: list[float]


class _Connection:
    def __init__(self, host: str) -> None:
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=_PATIENCE_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._got = b""
        self._began = 0.0

    def send(self, data: bytes) -> None:
        self._got, self._began = b"", time.perf_counter()
        self.socket.sendall(data)

    def receive(self) -> float | None:
        """How long it took, once the answer is whole. Raises where that is not 2xx."""
        part = self.socket.recv(_CHUNK)
        if not part:
            raise RuntimeError("the server has closed the connection")
        self._got += part
        return time.perf_counter() - self._began if is_whole(self._got) else None


def is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    length = _LENGTH.search(head)
    if not head.startswith(b"HTTP/1.1 2") or length is None:
        raise RuntimeError(f"no good answer: {answer[:500]!r}")
    return len(body) >= int(length[1])


def for_seconds(host: str, data: bytes, connections: int, seconds: float) -> Answered:
    """The same request again and again on every connection, for so long."""
    end = time.perf_counter() + seconds
    return _pump(host, connections, repeat(data), lambda: time.perf_counter() < end)


def _pump(
    host: str, connections: int, requests: Iterator[bytes], goes_on: Callable[[], bool]
) -> Answered:
    every = [_Connection(host) for _ in range(connections)]
    took: list[float] = []
    with selectors.DefaultSelector() as selector:
        for each in every:
            selector.register(each.socket, selectors.EVENT_READ, each)
        began = time.perf_counter()
        for each in every:
            each.send(next(requests))
        waiting = connections
        while waiting:
            for key, _ in selector.select(_PATIENCE_SECONDS):
                seconds = key.data.receive()
                if seconds is None:
                    continue
                took.append(seconds)
                if goes_on():
                    key.data.send(next(requests))
                else:
                    waiting -= 1
        passed = time.perf_counter() - began
    for each in every:
        each.socket.close()
    return Answered(len(took) / passed, took)
