"""A graph at once: keys inside, ids outside, all or nothing."""

from typing import Any
from uuid import UUID

import pytest

from tests.functions.world import World

ETL = [
    {"key": "extract", "name": "Extract", "cron_expression": "0 2 * * *"},
    {"key": "clean", "name": "Clean", "after": ["extract"]},
    {"key": "load", "name": "Load", "after": [{"job_id": "clean"}, "extract"]},
]


@pytest.fixture
def world() -> World:
    return World()


def test_a_workflow_is_submitted_at_once(world: World) -> None:
    made = world.call("POST", "/workflows", {"name": "etl", "jobs": ETL})

    ids = made.body["jobs"]
    assert (made.status, list(ids)) == (201, ["extract", "clean", "load"])
    load = world.ledger.job("default", UUID(ids["load"]))
    assert [edge.job_id for edge in load.after] == [ids["clean"], ids["extract"]]
    assert load.policy.metadata == {
        "workflow_id": made.body["workflow_id"],
        "workflow": "etl",
        "workflow_key": "load",
    }
    assert load.repeats


def test_jobs_may_be_named_by_name_and_wait_for_jobs_outside(world: World) -> None:
    outside = world.call.submit()
    jobs = [{"name": "b", "dependencies": ["a", outside]}, {"name": "a"}]

    made = world.call("POST", "/workflows", {"jobs": jobs})

    b = world.ledger.job("default", UUID(made.body["jobs"]["b"]))
    assert [edge.job_id for edge in b.after] == [made.body["jobs"]["a"], outside]


def test_a_retry_makes_no_second_workflow(world: World) -> None:
    headers = {"Idempotency-Key": "w"}
    first = world.call("POST", "/workflows", {"jobs": ETL}, headers=headers)
    again = world.call("POST", "/workflows", {"jobs": ETL}, headers=headers)
    other = world.call("POST", "/workflows", {"jobs": ETL[:2]}, headers=headers)
    assert again.body == first.body
    assert other.status == 409


@pytest.mark.parametrize(
    ("jobs", "field", "words"),
    [
        ([], "jobs", "give 1 to"),
        ([{"name": "a", "after": ["b"]}, {"name": "b", "after": ["a"]}], "after", "a → b → a"),
        ([{"name": "a", "after": ["a"]}], "after", "cycle"),
        ([{"name": "a"}, {"name": "a"}], "jobs[1].key", "unique"),
        ([{"name": "a", "after": ["c"]}], "jobs[0].after[0]", "'c' is not a job id"),
        ([{"key": "a"}], "jobs[0].name", "give the job a name"),
        ([{"name": "a", "items": [1]}], "jobs[0].items", "no such field"),
        ([{"name": "a", "after": [{"job": "b"}]}], "jobs[0].after[0].job", "no such field"),
    ],
)  # fmt: skip
def test_a_bad_graph_is_refused_in_its_own_words(
    world: World, jobs: list[dict[str, object]], field: str, words: str
) -> None:
    refused = world.call("POST", "/workflows", {"jobs": jobs})
    assert (refused.status, refused.error["field"]) == (422, field), refused.body
    assert words in refused.error["message"]
    assert world.call("GET", "/jobs").body["jobs"] == []


UPSTREAMS = [str(UUID(int=n)) for n in range(500)]
TOO_DENSE = [
    ("/workflows", {"jobs": [{"name": f"job {n}", "after": UPSTREAMS} for n in range(101)]}),
    ("/jobs/batch", {"jobs": [{"name": "a", "dependencies": UPSTREAMS} for _ in range(101)]}),
    ("/jobs", {"name": "a", "after": UPSTREAMS, "items": [None] * 101}),
]


@pytest.mark.parametrize(("path", "body"), TOO_DENSE)
def test_a_submission_has_edges_that_can_be_counted(
    world: World, path: str, body: dict[str, Any]
) -> None:
    refused = world.call("POST", path, body)

    assert (refused.status, refused.body["error"]["code"]) == (422, "invalid_graph")
    assert "50,500 upstreams; give 50,000" in refused.body["error"]["message"]
