"""Many at once, and once however often."""

from uuid import uuid4

import pytest

from tests.e2e.stack import Stack

pytestmark = pytest.mark.usefixtures("checked")


def test_a_batch_is_answered_in_its_order_and_all_of_it_runs(stack: Stack) -> None:
    jobs = [{"name": f"number {n}", "payload": n} for n in range(50)]

    answer = stack.ask("POST", "/jobs/batch", {"jobs": jobs})

    assert answer.status == 201
    results = [stack.ended(job)[0]["result"] for job in answer.body["job_ids"]]
    assert results == list(range(50))


def test_a_batch_with_one_that_is_wrong_makes_none(stack: Stack) -> None:
    tag = str(uuid4())
    jobs = [{"name": "right", "tags": [tag]}, {"name": "wrong", "tags": [tag], "priority": 11}]

    refused = stack.ask("POST", "/jobs/batch", jobs)

    assert (refused.status, refused.body["error"]["field"]) == (422, "jobs[1].priority")
    assert stack.get(f"/jobs?tag={tag}")["jobs"] == []


def test_items_make_a_job_each_under_one_group(stack: Stack) -> None:
    answer = stack.ask("POST", "/jobs", {"name": "encode", "items": ["240p", "480p", "720p"]})

    assert answer.status == 201
    assert [stack.ended(job)[0]["result"] for job in answer.body["job_ids"]] == [
        "240p",
        "480p",
        "720p",
    ]
    metadata = [stack.get(f"/jobs/{job}")["metadata"] for job in answer.body["job_ids"]]
    assert {each["group_id"] for each in metadata} == {answer.body["group_id"]}
    assert [each["group_index"] for each in metadata] == [0, 1, 2]


def test_a_submission_under_one_idempotency_key_makes_one_job(stack: Stack) -> None:
    key, body = {"Idempotency-Key": str(uuid4())}, {"name": "once"}

    first, again = (stack.ask("POST", "/jobs", body, key) for _ in range(2))
    other = stack.ask("POST", "/jobs", {"name": "another"}, key)

    assert (first.status, again.status) == (201, 201)
    assert first.body == again.body
    assert again.headers["idempotency-replayed"] == "true"
    assert (other.status, other.body["error"]["code"]) == (409, "idempotency_conflict")
    stack.ended(first.body["job_id"])
    assert len(stack.runs(first.body["job_id"])) == 1
