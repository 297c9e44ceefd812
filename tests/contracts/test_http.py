"""Events and answers of API Gateway."""

from datetime import UTC, datetime, timedelta, timezone
from http import HTTPStatus
from typing import Any

import pytest

from lamplighter.contracts.answers import shown_instant, shown_span
from lamplighter.contracts.http import Response, TenantClaim, answer_of, request_of
from lamplighter.contracts.http_errors import NoTenant
from lamplighter.domain.canary import INTERNAL_TENANT
from tests.functions.calling import recorded


def test_a_named_stage_is_no_part_of_the_path() -> None:
    request = request_of(recorded("submit_authorized"))
    assert (request.path, request.tenant) == ("/jobs", "acme")


def test_without_an_authorizer_everybody_is_the_default_tenant() -> None:
    assert request_of(recorded("submit")).tenant == "default"
    event = recorded("submit")
    event["headers"]["tenant"] = "acme"
    told: list[Any] = [None, {}, {"lambda": None}, {"lambda": {}}, {"lambda": {"tenant": 7}}]
    for authorizer in told:
        event["requestContext"]["authorizer"] = authorizer
        assert request_of(event).tenant == "default"


def test_the_tenant_is_what_the_authorizer_says_of_whatever_kind_it_is() -> None:
    event = recorded("submit_jwt")
    assert request_of(event).tenant == "acme"
    assert request_of(event, TenantClaim("sub")).tenant == "robot"
    assert request_of(recorded("submit_iam")).tenant == "default"


@pytest.mark.parametrize("claims", [None, {}, {"tenant": ["acme"]}, {"tenant": ""}, {"sub": "me"}])
def test_a_token_that_names_no_tenant_is_nobodys(claims: dict[str, Any] | None) -> None:
    event = recorded("submit_jwt")
    event["requestContext"]["authorizer"] = {"jwt": {"claims": claims}}

    with pytest.raises(NoTenant, match="no claim 'tenant'"):
        request_of(event)
    assert request_of(event, TenantClaim("tenant", "shared")).tenant == "shared"


def test_no_token_speaks_for_the_scheduler_itself() -> None:
    event = recorded("submit_jwt")
    event["requestContext"]["authorizer"] = {"jwt": {"claims": {"tenant": INTERNAL_TENANT}}}

    with pytest.raises(NoTenant, match="the scheduler's own"):
        request_of(event)


def test_names_of_headers_are_read_in_any_case() -> None:
    event = recorded("submit")
    event["headers"] = {"Content-TYPE": "application/json", "IDEMPOTENCY-key": "k"}
    assert request_of(event).headers == {"content-type": "application/json", "idempotency-key": "k"}


def test_a_trailing_slash_does_not_matter() -> None:
    assert request_of(recorded("query") | {"rawPath": "/jobs/"}).path == "/jobs"
    assert request_of(recorded("query") | {"rawPath": "/"}).path == "/"


def test_an_answer_without_a_body_is_empty() -> None:
    assert answer_of(Response(HTTPStatus.NO_CONTENT))["body"] == ""


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2025, 9, 25, 9, 30, tzinfo=UTC), "2025-09-25T09:30:00.000Z"),
        (datetime(2025, 9, 25, 9, 30, 0, 999_999, UTC), "2025-09-25T09:30:00.999Z"),
        (datetime(2025, 9, 25, 1, tzinfo=timezone(timedelta(hours=2))), "2025-09-24T23:00:00.000Z"),
    ],
)
def test_times_are_rfc_3339_with_z_to_the_millisecond(moment: datetime, text: str) -> None:
    assert shown_instant(moment) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.35, "350 ms"), (12, "12 s"), (119, "119 s"), (300, "5 min"), (7200, "2 h"),
     (3 * 86_400, "3 days")],
)  # fmt: skip
def test_spans_are_told_as_people_do(seconds: float, text: str) -> None:
    assert shown_span(timedelta(seconds=seconds)) == text
