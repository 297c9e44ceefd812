"""Calls of AWS that somebody else takes out of the house: written and signed here, read here.

boto3 does all of it as ever, and repeats what it would; only the line is another. Whoever carries
sees a request that is good for some minutes and for nothing else, and no key.
"""

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, Final

from botocore.awsrequest import AWSResponse, HeadersDict

from lamplighter.ports.target import HttpRequest, HttpResponse

Send = Callable[[HttpRequest], HttpResponse]

# Answers of the services that are called like this are a few lines of XML.
_KEPT_BYTES: Final = 100_000


def carry(client: Any, send: Send) -> None:
    """From now on; what `send` raises is what the client's method raises."""
    seconds = float(client.meta.config.read_timeout)

    def instead(request: Any, **_: Any) -> AWSResponse:
        return _answer(request.url, send(_ready(request, seconds)))

    service = client.meta.service_model.service_id.hyphenize()
    client.meta.events.register(f"before-send.{service}", instead)


def _ready(request: Any, seconds: float) -> HttpRequest:
    """As it is: one changed header, and its signature would be wrong."""
    headers = {name: _text(value) for name, value in request.headers.items()}
    body = request.body or b""
    data = body.encode() if isinstance(body, str) else bytes(body)
    return HttpRequest(request.method, request.url, headers, data, seconds, _KEPT_BYTES)


def _answer(url: str, response: HttpResponse) -> AWSResponse:
    headers: Any = HeadersDict(response.headers)
    return AWSResponse(url, response.status, headers, _Raw(response.body))


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class _Raw(BytesIO):
    """What botocore reads an answer from."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
