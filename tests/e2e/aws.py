"""AWS as moto plays it, for this process and for whoever asks at a port."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

import boto3
import requests
from moto import mock_aws

from tests.e2e.stack import listening

REGION: Final = "eu-west-1"
# Of a signature: who asks, on which day, where, and for what.
_SCOPE: Final = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/")
_SECONDS: Final = 10


class _Front(BaseHTTPRequestHandler):
    """Asks again in this process, where moto answers."""

    def do_POST(self) -> None:
        signed_for = _SCOPE.search(self.headers["authorization"])
        assert signed_for is not None
        answer = requests.post(
            f"https://{signed_for['service']}.{signed_for['region']}.amazonaws.com{self.path}",
            data=self.rfile.read(int(self.headers["content-length"])),
            headers={name: text for name, text in self.headers.items() if name.lower() != "host"},
            timeout=_SECONDS,
        )
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers["content-type"])
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_: Any) -> None:
        """A test's output is its own."""


@contextmanager
def aws_at(port: int) -> Iterator[None]:
    with mock_aws(), listening(_Front, port):
        yield


def client(service: str) -> Any:
    make: Any = boto3.client
    return make(service, region_name=REGION, endpoint_url=None)
