"""No web page in the user's browser can submit a command."""

from collections.abc import Mapping

import pytest

from tests.infra.local.gateway.conftest import Client, read_raw

JOB = {"name": "hello", "command": "id"}
FOREIGN_HOSTS = [
    "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8080",
    "10.0.0.1", "localhost:port", "localhost@evil.example", "", "[::2]", "localhost.", "0",
]  # fmt: skip


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9999", "[::1]:80"])
def test_this_machine_is_served_under_any_of_its_names(host: str, client: Client) -> None:
    assert client("GET", "/healthz", headers={"host": host}).status == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_refused(host: str, client: Client) -> None:
    refused = client("POST", "/jobs", JOB, {"host": host})

    assert refused.status == 403
    assert refused.code == "foreign_host"


def test_a_request_without_a_host_is_refused(client: Client) -> None:
    assert read_raw(client.raw("GET /healthz HTTP/1.0")).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost:{port}",
        "http://localhost",
        "http://localhost:1",
        "http://localhost:{port}.evil.example",
        "null",
        "file://",
    ],
)
def test_a_foreign_origin_is_refused(origin: str, client: Client) -> None:
    refused = client("POST", "/jobs", JOB, {"origin": origin.format(port=client.port)})

    assert refused.status == 403
    assert refused.code == "foreign_origin"


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_our_own_pages_are_served(name: str, client: Client) -> None:
    ours = {"origin": f"http://{name}:{client.port}", "sec-fetch-site": "same-origin"}

    assert client("POST", "/jobs", JOB, ours).status == 201


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_calls_another_site_is_refused(site: str, client: Client) -> None:
    refused = client("GET", "/jobs", headers={"sec-fetch-site": site})

    assert refused.status == 403
    assert refused.code == "foreign_origin"


def test_an_address_that_is_typed_is_served(client: Client) -> None:
    assert client("GET", "/jobs", headers={"sec-fetch-site": "none"}).status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
        {"content-type": "multipart/form-data; boundary=application/json"},
    ],
    ids=str,
)
def test_a_body_that_is_not_json_is_refused(
    method: str, headers: Mapping[str, str], client: Client
) -> None:
    refused = client(method, "/jobs", b'{"name": "hello"}', headers)

    assert refused.status == 415
    assert refused.code == "not_json"


def test_json_with_a_charset_is_json(client: Client) -> None:
    told = {"content-type": "Application/JSON; charset=utf-8"}

    assert client("POST", "/jobs", b'{"name": "hello"}', told).status == 201


def test_no_page_is_ever_let_read(client: Client) -> None:
    asked = {"origin": f"http://localhost:{client.port}", "access-control-request-method": "POST"}

    for answer in (client("OPTIONS", "/jobs", headers=asked), client("GET", "/jobs")):
        assert not [name for name in answer.headers if name.startswith("access-control")]
