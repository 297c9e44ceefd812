"""From an HTTP request to the function that has a route for it, and back."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import msgspec

from infra.local.gateway.event import Answer, answer_of, event_of
from infra.local.gateway.guard import check_body, check_head, status_of_refusal, too_large
from lamplighter.contracts.http import JSON
from lamplighter.contracts.http_api import Api
from lamplighter.contracts.http_checks import BODY_BYTES
from lamplighter.contracts.http_errors import error_body, error_headers
from lamplighter.domain.errors import LamplighterError

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[dict[str, Any], object], dict[str, Any]]

# A request takes one from when it is whole until it is answered, never while it arrives or leaves.
# Each function has its own, as on AWS: readers who wait for the ledger keep nobody from submitting.
THREADS: Final = 64


class Function(msgspec.Struct, frozen=True):
    """A Lambda function behind the gateway: what it has routes for, and how it is called."""

    api: Api[Any]
    handler: Handler


class Gateway:
    """An ASGI application. `port` is its own: pages of any other are foreign."""

    def __init__(self, functions: Sequence[Function], *, port: int) -> None:
        self._port = port
        self._routes = [
            (route, called)
            for each in functions
            for called in [_Called(each.handler, _threads())]
            for route in each.api.routes
        ]
        every = {route.name: route.endpoint for route, _ in self._routes}
        self._misses: Api[Any] = Api("gateway", every)
        self._miss = _Called(self._say_no, _threads())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.suppress(_Gone):
            await _send(await self._respond(scope, receive), send)

    async def _respond(self, scope: Scope, receive: Receive) -> Answer:
        try:
            check_head(scope, self._port)
            body = await _read(receive)
            check_body(scope, body)
        except LamplighterError as refusal:
            return _refused(refusal)
        name, called = self._find(scope["method"], scope["path"])

        def call() -> Answer:
            return answer_of(called.handler(event_of(scope, body, name), None))

        return await asyncio.get_running_loop().run_in_executor(called.threads, call)

    def _find(self, method: str, path: str) -> tuple[str, "_Called"]:
        # As the functions read it.
        path = path.rstrip("/") or "/"
        for route, called in self._routes:
            if route.method == method and route.pattern.match(path):
                return route.name, called
        return "$default", self._miss

    def _say_no(self, event: dict[str, Any], _: object) -> dict[str, Any]:
        """404, or 405 with the methods of all functions: each alone knows only its own."""
        return self._misses.answer(event, lambda: None)


class _Called(msgspec.Struct, frozen=True):
    handler: Handler
    threads: ThreadPoolExecutor


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="request")


class _Gone(Exception):
    """The client has left before its request was whole."""


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BODY_BYTES:
            raise too_large()
    return bytes(body)


def _refused(refusal: LamplighterError) -> Answer:
    body = msgspec.json.encode(error_body(refusal)).decode()
    headers = {"content-type": JSON, **error_headers(refusal)}
    return answer_of(
        {"statusCode": int(status_of_refusal(refusal)), "headers": headers, "body": body}
    )


async def _send(answer: Answer, send: Send) -> None:
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})
