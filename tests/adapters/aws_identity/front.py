"""TLS in front of a PostgreSQL that has none: what RDS has, and the embedded server lacks."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.adapters.aws_identity.certificates import certify

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)


@contextmanager
def tls_front(port: int, folder: Path) -> Iterator[tuple[int, Path]]:
    """The port of one for `localhost`, and the certificate that vouches for it."""
    authority = certify(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, folder / "key.pem")
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_accept, args=(server, context, port), daemon=True).start()
    try:
        yield server.getsockname()[1], authority
    finally:
        server.close()


def _accept(server: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError):
        while True:
            line, _ = server.accept()
            threading.Thread(target=_serve, args=(line, context, port), daemon=True).start()


def _serve(line: socket.socket, context: ssl.SSLContext, port: int) -> None:
    with suppress(OSError), line:
        if line.recv(8, socket.MSG_WAITALL) != _SSL_REQUEST:
            return
        line.sendall(b"S")
        with (
            context.wrap_socket(line, server_side=True) as secure,
            socket.create_connection(("127.0.0.1", port)) as inside,
        ):
            threading.Thread(target=_copy, args=(inside, secure), daemon=True).start()
            _copy(secure, inside)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)
