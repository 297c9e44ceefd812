"""The gateway on a real port, with the real functions behind it, over a ledger in memory."""

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
import uvicorn

from functions.query import handler as query
from functions.submit import handler as submit
from infra.local.gateway.app import Function, Gateway
from infra.local.gateway.server import server
from infra.local.service import HOST, free_port
from lamplighter import wiring
from tests.functions.world import World
from tests.infra.local.waiting import wait_until


class Answer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def code(self) -> str:
        """Of an error, in the shape that the functions give it."""
        error = self.body["error"]
        assert set(error) >= {"code", "message", "field"}
        assert self.headers["content-type"] == "application/json"
        code: str = error["code"]
        return code


class Client:
    """HTTP as a program speaks it; `raw` and `send` for what no library would send."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        told = json.dumps(body).encode() if isinstance(body, dict) else body
        usual = {"content-type": "application/json"} if isinstance(body, dict) else {}
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request(method, path, told, usual | dict(headers or {}))
            return read(connection.getresponse())
        finally:
            connection.close()

    def raw(self, *lines: str, body: bytes = b"") -> socket.socket:
        """A connection over which a head of these lines has gone out, and this much of a body."""
        return self.send("\r\n".join([*lines, "", ""]).encode() + body)

    def send(self, data: bytes) -> socket.socket:
        connection = socket.create_connection((HOST, self.port), timeout=30)
        connection.sendall(data)
        return connection


def read(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def read_raw(connection: socket.socket) -> Answer:
    with connection:
        response = http.client.HTTPResponse(connection)
        response.begin()
        return read(response)


@contextmanager
def serving(functions: Sequence[Function]) -> Iterator[tuple[Client, uvicorn.Server]]:
    port = free_port()
    gateway = server(Gateway(functions, port=port), port)
    thread = threading.Thread(target=gateway.run)
    thread.start()
    wait_until(lambda: gateway.started, "the gateway")
    yield Client(port), gateway
    gateway.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    world = World()
    functions = [Function(each.api, each.handler) for each in (submit, query)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "desk", lambda: world.desk)
        with serving(functions) as (client, _):
            yield client
