"""A web server on this machine that answers webhooks as its paths say, and remembers them."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Received:
    def __init__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> None:
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    received: list[Received]
    gone: threading.Event

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.received.append(Received(self.command, self.path, headers, body))
        action = getattr(self, "do_" + self.path.strip("/").split("?")[0], None)
        if action is None:
            self.reply(int(self.path.strip("/")), b"told so")
        else:
            action()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = answer  # noqa: N815

    def reply(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_json(self) -> None:
        self.reply(200, b'{"taken": [1, 2]}', Content_Type="application/json; charset=utf-8")

    def do_broken(self) -> None:
        self.reply(200, b'{"taken": ', Content_Type="application/json")

    def do_echo(self) -> None:
        self.reply(500, repr(dict(self.headers)).encode())

    def do_large(self) -> None:
        self.reply(200, b"x" * 10_000_000)

    def do_busy(self) -> None:
        self.reply(503, b"", Retry_After="17")

    def do_moved(self) -> None:
        self.reply(302, b"", Location="http://169.254.169.254/latest/meta-data")

    def do_binary(self) -> None:
        self.reply(200, b"\x00\xff\xfe")

    def do_never(self) -> None:
        self.gone.wait(30)

    def do_drip(self) -> None:
        """A byte now and then: each read is quick, the whole is endless."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        try:
            while not self.gone.wait(0.05):
                self.wfile.write(b".")
        except OSError:
            self.close_connection = True

    def do_hangup(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """A test's output is its own."""


class Receiver:
    def __init__(self, server: ThreadingHTTPServer, received: list[Received]) -> None:
        self.received = received
        self.port = server.server_address[1]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def wait_for(self, count: int) -> None:
        limit = time.monotonic() + 30
        while len(self.received) < count:
            assert time.monotonic() < limit, "nothing was received"
            time.sleep(0.01)


@contextmanager
def a_receiver() -> Iterator[Receiver]:
    received: list[Received] = []
    gone = threading.Event()
    handler = type("Handler", (_Handler,), {"received": received, "gone": gone})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Receiver(server, received)
    finally:
        gone.set()
        server.shutdown()
        server.server_close()
        thread.join()
