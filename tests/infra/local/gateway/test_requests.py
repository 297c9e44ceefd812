"""Any request reaches the right function whole, and its answer comes back whole."""

import http.client

import pytest

from infra.local.service import HOST
from tests.infra.local.gateway.conftest import Client, read_raw

JOB = {"name": "hello", "payload": {"to": "wörld"}}


def test_a_job_goes_to_submit_and_is_read_from_query(client: Client) -> None:
    created = client("POST", "/jobs", JOB)

    found = client("GET", f"/jobs/{created.body['job_id']}")

    assert (created.status, found.status) == (201, 200)
    assert found.body["payload"] == {"to": "wörld"}
    assert found.headers["etag"]


def test_a_query_string_arrives_decoded(client: Client) -> None:
    client("POST", "/jobs", JOB | {"name": "tagged", "tags": ["a b&c"]})

    found = client("GET", "/jobs?tag=a%20b%26c&limit=5")

    assert found.status == 200, found.raw
    assert [each["name"] for each in found.body["jobs"]] == ["tagged"]


def test_an_unknown_parameter_is_named_by_the_function(client: Client) -> None:
    refused = client("GET", "/jobs?colour=red&colour=blue")

    assert refused.status == 422
    assert refused.body["error"]["field"] == "colour"


def test_a_percent_encoded_path_is_decoded(client: Client) -> None:
    job_id = client("POST", "/jobs", JOB).body["job_id"]

    found = client("GET", f"/%6aobs/{job_id.replace('-', '%2D')}/")

    assert found.status == 200
    assert found.body["job_id"] == job_id


def test_a_chunked_body_is_put_together(client: Client) -> None:
    connection = http.client.HTTPConnection(HOST, client.port, timeout=30)
    parts = iter([b'{"name": ', b'"in parts"', b"}"])
    connection.request(
        "POST", "/jobs", parts, {"content-type": "application/json"}, encode_chunked=True
    )

    assert connection.getresponse().status == 201
    connection.close()


def test_a_body_that_is_no_text_is_refused_by_the_function(client: Client) -> None:
    refused = client("POST", "/jobs", b'{"name": "\xff"}', {"content-type": "application/json"})

    assert refused.status == 400
    assert refused.code == "malformed_request"


def test_two_hosts_are_none_of_ours(client: Client) -> None:
    twice = ["GET /healthz HTTP/1.1", "Host: localhost", "Host: localhost"]

    assert read_raw(client.raw(*twice)).status in (400, 403)


def test_one_connection_carries_many_requests(client: Client) -> None:
    connection = http.client.HTTPConnection(HOST, client.port, timeout=30)
    connection.request("GET", "/healthz")
    connection.getresponse().read()
    first = connection.sock
    connection.request("GET", "/readyz")

    assert connection.getresponse().status == 200
    assert connection.sock is first
    connection.close()


def test_text_comes_back_as_text(client: Client) -> None:
    metrics = client("GET", "/metrics")

    assert metrics.headers["content-type"].startswith("text/plain")
    assert b"# HELP" in metrics.raw


@pytest.mark.parametrize(("method", "status"), [("HEAD", 405), ("PATCH", 405), ("TRACE", 405)])
def test_a_method_without_a_route_is_told_which_there_are(
    method: str, status: int, client: Client
) -> None:
    refused = client(method, "/jobs")

    assert refused.status == status
    # Of both functions: each knows only its own.
    assert refused.headers["allow"] == "GET, POST"
    assert bool(refused.raw) is (method != "HEAD")


def test_a_method_that_is_none_is_refused(client: Client) -> None:
    assert read_raw(client.raw("LIGHT /jobs HTTP/1.1", "Host: localhost")).status == 400


def test_an_unknown_path_is_not_found(client: Client) -> None:
    refused = client("GET", "/nothing/here")

    assert refused.status == 404
    assert refused.code == "no_such_route"


def test_an_upgrade_is_not_taken_up(client: Client) -> None:
    asked = {"connection": "upgrade", "upgrade": "websocket"}

    assert client("GET", "/healthz", headers=asked).status == 200
