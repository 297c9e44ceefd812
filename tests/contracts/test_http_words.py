"""Every refusal of a body or a parameter says what to give; no decoder's words are left."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
from msgspec import Meta

from lamplighter.contracts.http_decode import InvalidBody, decode, parameters
from lamplighter.contracts.http_errors import InvalidParameter
from lamplighter.contracts.jobs import BackfillBody, CalendarBody, DecisionBody, JobBody

TIME = "give an RFC 3339 time such as 2026-03-28T02:30:00Z"


@pytest.mark.parametrize(
    ("body", "kind", "field", "fix"),
    [
        ('{"priority": 11}', JobBody, "priority", "give a whole number from 1 to 10"),
        ('{"priority": 1.5}', JobBody, "priority", "give a whole number from 1 to 10"),
        ('{"interval_seconds": "x"}', JobBody, "interval_seconds", "give a number"),
        ('{"name": 7}', JobBody, "name", "give text"),
        ('{"tags": 7}', JobBody, "tags", "give a list"),
        ('{"tags": [7]}', JobBody, "tags[0]", "give text"),
        ('{"after": [7]}', JobBody, "after[0]", "give text or an object"),
        ('{"critical": 7}', JobBody, "critical", "give true or false"),
        ('{"backoff": 7}', JobBody, "backoff", "give an object"),
        ('{"schedule_time": "soon"}', JobBody, "schedule_time", TIME),
        ('{"schedule_time": 7}', JobBody, "schedule_time", TIME),
        ('{"start": 7}', BackfillBody, "start", TIME),
        ('{"dates": ["x"]}', CalendarBody, "dates[0]", "give a date such as 2026-03-28"),
        ('{"status": "DONE"}', DecisionBody, "status", "there is no choice 'DONE'"),
        ("[]", JobBody, "body", "give an object"),
    ],
)
def test_a_wrong_field_is_told_what_to_give(
    body: str, kind: type[Any], field: str, fix: str
) -> None:
    with pytest.raises(InvalidBody) as refused:
        decode(body.encode(), kind)
    assert (refused.value.field, refused.value.fix) == (field, fix)


def test_a_decision_that_is_none_is_answered_with_the_choices() -> None:
    with pytest.raises(InvalidBody) as refused:
        decode(b'{"status": "DONE"}', DecisionBody)
    assert refused.value.hint == "Choose one of: SUCCESS, FAILED, SCHEDULED."


class _Query(msgspec.Struct, kw_only=True):
    cursor: UUID | None = None
    limit: Annotated[int, Meta(ge=1)] = 1
    most: Annotated[int, Meta(le=5000)] = 1


@pytest.mark.parametrize(
    ("given", "fix"),
    [
        ({"cursor": "x"}, "give an id, a UUID, as an answer named it"),
        ({"limit": "0"}, "give a whole number of at least 1"),
        ({"most": "9999"}, "give a whole number of at most 5,000"),
    ],
)
def test_a_wrong_parameter_is_told_what_to_give(given: dict[str, str], fix: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        parameters(given, _Query)
    assert refused.value.fix == fix
