"""uvicorn's HTTP, with the bounds that it lacks: how long a head may be, and a request may take."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from infra.local.gateway.guard import HEAD_BYTES, HeadersTooLarge
from lamplighter.contracts.http_errors import error_body
from lamplighter.domain.errors import LamplighterError

REQUEST_SECONDS: Final = 30.0
# A client that asks for much and then does not read it.
UNREAD_SECONDS: Final = 30.0


class RequestTimeout(LamplighterError):
    """The request did not arrive in time."""


class BoundedProtocol(HttpToolsProtocol):
    """One connection. It holds no thread while it sends, and is closed when it takes too long."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_head = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self._is_read()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._in_head:
            return
        self._head_bytes += len(data)
        if self._head_bytes > HEAD_BYTES:
            problem = HeadersTooLarge(f"Path and headers are over {HEAD_BYTES:,} bytes.")
            self._close_with(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, problem)

    def pause_writing(self) -> None:
        # Closing would wait for the same client to read the rest.
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        self._is_read()
        super().resume_writing()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self._await_request()

    def on_headers_complete(self) -> None:
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._disarm()
        super().on_message_complete()

    def _await_request(self) -> None:
        self._disarm()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()

    def _give_up(self) -> None:
        problem = RequestTimeout(f"The request did not arrive in {REQUEST_SECONDS:g} s.")
        self._close_with(HTTPStatus.REQUEST_TIMEOUT, problem)

    def _close_with(self, status: HTTPStatus, problem: LamplighterError) -> None:
        """Say why, unless an answer was given already, and close."""
        if self.transport.is_closing():
            return
        if self._in_head or not self.cycle.response_started:
            body = msgspec.json.encode(error_body(problem))
            head = f"HTTP/1.1 {int(status)} {status.phrase}\r\ncontent-type: application/json\r\n"
            size = f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(f"{head}{size}".encode() + body)
        self.transport.close()
