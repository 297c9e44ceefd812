"""A courier whose function runs in this process, behind AWS's own client and its service model."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.awsrequest import AWSResponse, HeadersDict

from functions.courier.handler import handler
from infra.local.lambdas import Context
from lamplighter import wiring
from lamplighter.adapters.targets.aws.clients import Clients
from lamplighter.adapters.targets.http.courier import CourierSender

FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:cell-courier"
Answer = Callable[[bytes], tuple[int, dict[str, str], bytes]]


class Raw(BytesIO):
    """What botocore reads an answer from."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        while piece := self.read(4096):
            yield piece


class Courier:
    """`sender` invokes it; `payloads` is what it was invoked with; `answer` may be replaced."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self.read_seconds: list[float] = []
        self.answer: Answer = _handled
        self._lock = threading.Lock()
        self._clients = Clients("us-east-1")
        self.sender = CourierSender(FUNCTION, self)  # type: ignore[arg-type]

    def get(self, service: str, *, read_seconds: float, repeat: bool) -> Any:
        """As Clients has it."""
        self.read_seconds.append(read_seconds)
        client = self._clients.get(service, read_seconds=read_seconds, repeat=repeat)
        client.meta.events.register("before-send.lambda.Invoke", self._send, unique_id="courier")
        return client

    def _send(self, request: Any, **_: Any) -> Any:
        assert request.headers["X-Amz-Invocation-Type"].decode() == "RequestResponse"
        assert FUNCTION.rpartition(":")[2] in urlsplit(request.url).path
        with self._lock:
            self.payloads.append(request.body)
        status, headers, body = self.answer(request.body)
        found: Any = HeadersDict(headers)
        return AWSResponse(request.url, status, found, Raw(body))


def _handled(payload: bytes) -> tuple[int, dict[str, str], bytes]:
    answer = handler(json.loads(payload), Context("courier"))
    return 200, {}, json.dumps(answer).encode()


@contextmanager
def a_courier(monkeypatch: pytest.MonkeyPatch) -> Iterator[Courier]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("LAMPLIGHTER_ALLOW_PRIVATE_ADDRESSES", "true")
    wiring.forget()
    yield Courier()
    wiring.forget()
