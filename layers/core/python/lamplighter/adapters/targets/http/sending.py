"""Sends a webhook from this process: to an address that was checked, without following anything."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.exceptions import TimeoutError as TimeoutErrorOfUrllib3
from urllib3.response import BaseHTTPResponse

from lamplighter.adapters.targets.http.addresses import resolve
from lamplighter.ports.target import Context, HttpRequest, HttpResponse, TargetFailed

CONNECT_SECONDS: Final = 5.0
_PORTS: Final = {"http": 80, "https": 443}


class _Guarded(HTTPConnection):
    """Connects to the first allowed address that answers, and can be cut off from any thread."""

    allow_private = False
    line: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        problem: OSError | None = None
        for family, address in resolve(self.host, self.port, allow_private=self.allow_private):
            made = socket.socket(family, socket.SOCK_STREAM)
            try:
                made.settimeout(self.timeout if isinstance(self.timeout, float) else None)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                made.connect((address, self.port))
            except OSError as failed:
                made.close()
                problem = failed
                continue
            # A second handle: TLS takes the first one over and is busy with it.
            self.line = made.dup()
            return made
        raise TargetFailed(f"no connection to {self.host}:{self.port}: {problem}")

    def cut_off(self) -> None:
        """Whoever reads from or writes to it fails at once."""
        with contextlib.suppress(OSError):
            if self.line is not None:
                self.line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        if self.line is not None:
            self.line.close()


class _GuardedTls(_Guarded, HTTPSConnection):
    """The certificate is checked against the name in the URL, not the address."""


class DirectSender:
    """`allow_private` opens loopback and private networks: right on a laptop, not in a VPC."""

    def __init__(self, *, allow_private: bool = False) -> None:
        self._allow_private = allow_private

    def send(self, request: HttpRequest, context: Context) -> HttpResponse:
        connection = self._connection(request.url)
        with context.on_stop(connection.cut_off):
            return self._send(connection, request)

    def send_alone(self, request: HttpRequest) -> HttpResponse:
        """For what belongs to no run: nobody tells it to stop before its time is over.

        Then it is cut off: one that answers a byte at a time would never let go.
        """
        connection = self._connection(request.url)
        late = threading.Event()

        def cut_off() -> None:
            late.set()
            connection.cut_off()

        timer = threading.Timer(max(0.001, request.timeout_seconds), cut_off)
        timer.daemon = True
        timer.start()
        try:
            response = self._send(connection, request)
        except TargetFailed:
            if not late.is_set():
                raise
        else:
            if not late.is_set():
                return response
        finally:
            timer.cancel()
        raise TargetFailed(f"{connection.host}:{connection.port} gave no answer: timed out")

    def _send(self, connection: _Guarded, request: HttpRequest) -> HttpResponse:
        try:
            return _exchange(connection, request)
        except (HTTPError, HTTPException, OSError) as problem:
            # The URL without its query: there may be a token in it.
            where = f"{connection.host}:{connection.port}"
            raise TargetFailed(f"{where} gave no answer: {_words(problem)}") from None
        finally:
            connection.close()

    def _connection(self, url: str) -> _Guarded:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        if parts.scheme == "https":
            made: _Guarded = _GuardedTls(host, port, ssl_context=_trust())
        else:
            made = _Guarded(host, port)
        made.allow_private = self._allow_private
        return made


def _exchange(connection: _Guarded, request: HttpRequest) -> HttpResponse:
    connection.timeout = min(CONNECT_SECONDS, max(0.001, request.timeout_seconds))
    connection.connect()
    connection.timeout = max(0.001, request.timeout_seconds)
    parts = urlsplit(request.url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    # Not compressed: what is read is what is kept, and no small answer becomes a large one.
    headers = {"accept-encoding": "identity", **request.headers}
    connection.request(
        request.method, path, body=request.body or None, headers=headers, preload_content=False
    )
    return _kept(connection.getresponse(), request.keep_bytes)


def _kept(response: BaseHTTPResponse, limit: int) -> HttpResponse:
    body = b""
    while len(body) <= limit and (piece := response.read(limit + 1 - len(body))):
        body += piece
    return HttpResponse(response.status, _lower(response.headers), body[:limit], len(body) > limit)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _words(problem: BaseException) -> str:
    if isinstance(problem, TimeoutError | TimeoutErrorOfUrllib3):
        return "timed out"
    return f"{type(problem).__name__}: {problem}"


@cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()
