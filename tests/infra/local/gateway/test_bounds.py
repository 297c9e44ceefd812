"""What is too large or too slow is refused, and disturbs nobody else."""

import threading
from http import HTTPStatus
from typing import Any

import pytest

from infra.local.gateway import protocol
from infra.local.gateway.app import THREADS, Function
from lamplighter.contracts.http import Response
from lamplighter.contracts.http_api import Api
from lamplighter.contracts.http_checks import BODY_BYTES
from tests.infra.local.gateway.conftest import Client, read_raw, serving
from tests.infra.local.upping import listens
from tests.infra.local.waiting import wait_until

POST = ("POST /jobs HTTP/1.1", "Host: localhost", "Content-Type: application/json")

WITHOUT_BODY = "\r\n".join([*POST, "Content-Length: 5", "", ""]).encode()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "REQUEST_SECONDS", 0.2)


def test_ten_megabytes_are_refused(client: Client) -> None:
    refused = client("POST", "/jobs", b" " * 10_000_000, {"content-type": "application/json"})

    assert refused.status == 413
    assert refused.code == "body_too_large"


def test_a_body_is_refused_by_what_it_declares_before_it_is_sent(client: Client) -> None:
    refused = read_raw(client.raw(*POST, f"Content-Length: {BODY_BYTES + 1}"))

    assert refused.status == 413


def test_a_client_that_asks_before_sending_is_refused_too(client: Client) -> None:
    asked = client.raw(*POST, f"Content-Length: {BODY_BYTES + 1}", "Expect: 100-continue")

    assert read_raw(asked).status == 413


def test_a_chunked_body_is_refused_when_it_has_grown_too_large(client: Client) -> None:
    connection = client.raw(*POST, "Transfer-Encoding: chunked")
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    for _ in range(BODY_BYTES // 0x100000 + 1):
        connection.sendall(chunk)

    # Its end has not come, and need not.
    assert read_raw(connection).status == 413


def test_six_megabytes_are_read(client: Client) -> None:
    body = b'{"name": "large"' + b" " * (BODY_BYTES - 17) + b"}"

    assert len(body) == BODY_BYTES
    assert client("POST", "/jobs", body, {"content-type": "application/json"}).status == 201


@pytest.mark.parametrize("end", [b"\r\n\r\n", b""], ids=["whole", "without end"])
def test_too_many_headers_are_refused(end: bytes, client: Client) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + end

    refused = read_raw(client.send(head))

    assert refused.status == 431
    assert refused.code == "headers_too_large"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: loc", WITHOUT_BODY],
    ids=["nothing", "line", "head", "body"],
)
def test_a_request_that_does_not_arrive_is_given_up(sent: bytes, client: Client) -> None:
    late = read_raw(client.send(sent))

    assert late.status == 408
    assert late.code == "request_timeout"


def test_slow_clients_hold_no_threads(client: Client) -> None:
    slow = [client.raw(*POST, "Content-Length: 50", body=b"{") for _ in range(THREADS + 6)]

    assert client("GET", "/healthz").status == 200

    for connection in slow:
        connection.close()


def test_readers_that_wait_keep_nobody_from_submitting() -> None:
    go_on = threading.Event()

    def slow(_: dict[str, Any], __: object) -> dict[str, Any]:
        go_on.wait(30)
        return {"statusCode": 200, "body": "read"}

    reading: Api[None] = Api("read", {"GET /slow": lambda _, __: Response(HTTPStatus.OK)})
    writing: Api[None] = Api("write", {"POST /quick": lambda _, __: Response(HTTPStatus.OK)})
    written = Function(writing, lambda _, __: {"statusCode": 201, "body": "{}"})
    with serving([Function(reading, slow), written]) as (client, _):
        waiting = [client.raw("GET /slow HTTP/1.1", "Host: localhost") for _ in range(THREADS + 6)]

        assert client("POST", "/quick", {}).status == 201

        go_on.set()
        assert {read_raw(connection).raw for connection in waiting} == {b"read"}


def test_a_client_that_leaves_is_forgotten(client: Client) -> None:
    client.raw(*POST, "Content-Length: 50", body=b"{").close()

    assert client("GET", "/healthz").status == 200


def test_an_answer_that_nobody_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.2)
    # More than the system itself keeps for a connection.
    large = {"statusCode": 200, "body": " " * 50_000_000}
    api: Api[None] = Api("large", {"GET /large": lambda _, __: Response(HTTPStatus.OK)})
    with serving([Function(api, lambda _, __: large)]) as (client, gateway):
        connection = client.raw("GET /large HTTP/1.1", "Host: localhost")
        assert connection.recv(8).startswith(b"HTTP/1.1")

        wait_until(lambda: not gateway.server_state.connections, "the end of the connection")

        connection.close()


def test_a_gateway_that_is_stopped_answers_what_has_arrived() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(_: dict[str, Any], __: object) -> dict[str, Any]:
        begun.set()
        go_on.wait(30)
        return {"statusCode": 200, "body": "done"}

    api: Api[None] = Api("slow", {"GET /slow": lambda _, __: Response(HTTPStatus.OK)})
    with serving([Function(api, slow)]) as (client, gateway):
        connection = client.raw("GET /slow HTTP/1.1", "Host: localhost")
        begun.wait(30)

        gateway.should_exit = True
        wait_until(lambda: not listens(client.port), "a closed port")
        go_on.set()

        assert read_raw(connection).raw == b"done"
