"""A stand-in for SNS on this machine: takes what is signed as AWS wants it, and nothing else."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

REGION: Final = "us-east-1"
_PUBLISHED: Final = (
    b'<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult>'
    b"<MessageId>1</MessageId></PublishResult></PublishResponse>"
)
_REFUSED: Final = (
    b'<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type>'
    b"<Code>%s</Code><Message>no</Message></Error></ErrorResponse>"
)


class Sns:
    """`published` is what came; `refuse` is the code that the next are refused with."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.published: list[dict[str, str]] = []
        self.refuse: str | None = None
        self.url = ""

    def answer(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        code = self.refuse or self._wrong(headers, body)
        if code:
            return 403, _REFUSED % code.encode()
        self.published.append(dict(parse_qsl(body.decode())))
        return 200, _PUBLISHED

    def _wrong(self, headers: dict[str, str], body: bytes) -> str | None:
        """The signature of what arrived, made once more with the key that only AWS has too."""
        said = re.fullmatch(r".*SignedHeaders=(.+), Signature=(.+)", headers["authorization"])
        assert said
        kept = {name: headers[name] for name in said[1].split(";")}
        request: Any = AWSRequest("POST", self.url, kept, body)
        request.context["timestamp"] = headers["x-amz-date"]
        auth: Any = SigV4Auth(self.credentials, "sns", REGION)
        asked = auth.string_to_sign(request, auth.canonical_request(request))
        right = auth.signature(asked, request)
        is_right = right == said[2] and headers["x-amz-security-token"] == self.credentials.token
        return None if is_right else "SignatureDoesNotMatch"


@contextmanager
def a_signed_sns(credentials: Credentials) -> Iterator[Sns]:
    sns = Sns(credentials)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, answer = sns.answer(headers, body)
            self.send_response(status)
            self.send_header("content-type", "text/xml")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """A test's output is its own."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    sns.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield sns
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
