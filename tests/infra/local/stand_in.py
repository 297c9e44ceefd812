"""A component that is nothing but a process: it starts at once, and ends when it is told to.

    stand_in.py NAME --ready FILE --port PORT

The gateway's stand-in answers every request with its own process id. Run with `up` in front, it is
`lamplighter up` with such components: services, signals and files are the real ones.
"""

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = str(os.getpid()).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _component(name: str, mark: Path, port: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for variable in sorted(os.environ):
        if variable.startswith("LAMPLIGHTER_"):
            sys.stderr.write(f"{variable} {os.environ[variable]}\n")
    server = HTTPServer(("127.0.0.1", port), _Answers) if name == "gateway" else None
    mark.touch()
    if server:
        server.serve_forever()
    while True:
        signal.pause()


def _up(arguments: list[str]) -> None:
    from infra.local import roster
    from infra.local.command import up

    roster.PROGRAM = (sys.executable, __file__)
    up.main(arguments, prog_name="lamplighter up")


if __name__ == "__main__":
    if sys.argv[1] == "up":
        _up(sys.argv[2:])
    name, _, mark, _, port = sys.argv[1:]
    _component(name, Path(mark), int(port))
