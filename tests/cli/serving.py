"""The real submit and query functions behind a real HTTP server, over a ledger in memory."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from lamplighter.contracts.http import Response, answer_of
from lamplighter.contracts.http_errors import error_body
from lamplighter.domain.errors import LedgerUnavailable
from tests.functions.calling import APIS, recorded
from tests.functions.world import World

Step = Callable[[], object]
# What a step gives when nobody is to answer this time.
SILENCE = object()
# And what, when the ledger is away this time.
AWAY = object()


class Served(World):
    """A world that people reach over HTTP. `script` has what happens before each next read."""

    def __init__(self) -> None:
        super().__init__()
        self.script: list[Step] = []
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []

    def answer(self, method: str, target: str, headers: dict[str, str], body: str) -> Any:
        self.requests.append(f"{method} {target}")
        self.headers.append(headers)
        told = self.script.pop(0)() if method == "GET" and self.script else None
        if told is SILENCE:
            return None
        if told is AWAY:
            away = error_body(LedgerUnavailable())
            return answer_of(Response(HTTPStatus.SERVICE_UNAVAILABLE, away))
        parts = urlsplit(target)
        event = recorded("submit") | {"rawPath": parts.path, "headers": headers, "body": body}
        event["queryStringParameters"] = dict(parse_qsl(parts.query))
        event["requestContext"]["http"] |= {"method": method, "path": parts.path}
        return _function(method, parts.path).answer(event, lambda: self.desk)


def _function(method: str, path: str) -> Any:
    routes = [(api, route) for api in APIS for route in api.routes]
    found = (api for api, route in routes if route.method == method and route.pattern.match(path))
    return next(found, APIS[0])


@contextmanager
def serving(answer: Callable[..., Any]) -> Iterator[str]:
    """The URL of a server on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            sent = answer(self.command, self.path, dict(self.headers.items()), body)
            if sent is None:
                return  # the connection is closed without a word
            data = sent["body"].encode()
            self.send_response(sent["statusCode"])
            for name, value in sent["headers"].items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - as the library calls them

        def log_message(self, *_: Any) -> None:
            """Into no test's output."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
