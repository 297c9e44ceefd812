"""Whatever JSON arrives in whatever field: it is accepted and can be read, or refused by name."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.contracts.jobs import NewJobBody, PreviewBody
from tests.functions.world import World

TEXTS = st.text(max_size=20) | st.sampled_from(
    ["* * * * *", "UTC", "2030-01-01T12:00:30Z", "2031-02-29T00:00:00Z", "allow", "latest",
     "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "CRON", "AFTER", "default", "\0",
     "6f1e2a7c-0000-4000-8000-000000000000"]
)  # fmt: skip
NUMBERS = st.integers() | st.floats(allow_nan=False) | st.sampled_from([0, 1, 60, 2**63, 1e308])
KEYS = TEXTS | st.sampled_from(
    ["gap", "policy", "exclude", "only", "base_seconds", "job_id", "type"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=5,
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def _bodies(fields: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(fields), VALUES, max_size=4)


@QUICK
@given(_bodies(NewJobBody.__struct_fields__))
def test_a_submission_never_breaks_us(body: dict[str, Any]) -> None:
    call = World().call
    answer = call("POST", "/jobs", {"name": "x", **body})
    assert answer.status in {201, 400, 422}, answer.body
    if answer.status == 201 and "job_id" in answer.body:
        path = f"/jobs/{answer.body['job_id']}"
        for read in ("", "/status", "/runs", "/fires", "/explain"):
            assert call("GET", path + read).status == 200


@QUICK
@given(_bodies(NewJobBody.__struct_fields__), st.sampled_from(["cron_expression", "payload"]))
def test_an_edit_never_breaks_us(body: dict[str, Any], kind: str) -> None:
    call = World().call
    job_id = call.submit(**{kind: "0 0 * * *"})
    assert call("PUT", f"/jobs/{job_id}", body).status in {200, 400, 422}


@QUICK
@given(_bodies(PreviewBody.__struct_fields__))
def test_a_preview_never_breaks_us(body: dict[str, Any]) -> None:
    answer = World().call("POST", "/schedules/preview", body)
    assert answer.status in {200, 400, 422}, answer.body


@QUICK
@given(VALUES, st.sampled_from(["/jobs", "/jobs/batch", "/workflows", "/schedules/preview"]))
def test_any_document_is_answered(body: Any, path: str) -> None:
    answer = World().call("POST", path, {"jobs": [body]} if path == "/workflows" else body)
    assert answer.status in {200, 201, 400, 415, 422}, answer.body
