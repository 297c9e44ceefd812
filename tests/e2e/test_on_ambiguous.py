"""A worker is lost, by `kill -9`, while it runs jobs: each value of `on_ambiguous`."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.stack import SLEEP, Stack

pytestmark = pytest.mark.usefixtures("checked")

LOST = {"pool": "eu", "target": SLEEP, "payload": 600}


@pytest.fixture(scope="module")
def lost(stack: Stack) -> Iterator[dict[str, dict[str, Any]]]:
    """By policy, a run of a worker that was killed; all of them lost it at the same time."""
    jobs = {rule: stack.submit(**LOST, on_ambiguous=rule) for rule in ("retry", "hold")}
    jobs["default"] = stack.submit(**LOST)
    jobs["leave"] = stack.submit(**LOST, on_ambiguous="hold")
    runs = {rule: stack.in_state(job, "RUNNING")[0] for rule, job in jobs.items()}
    stack.replaced("worker-eu-1", stack.kill("worker-eu-1"))
    yield runs
    stack.cancel(*jobs.values())
    for job in jobs.values():
        stack.ended(job)


def test_on_ambiguous_hold_leaves_it_to_a_person_who_says_it_happened(
    stack: Stack, lost: dict[str, dict[str, Any]]
) -> None:
    run = stack.in_run_state(lost["hold"]["run_id"], "HELD")
    explained = stack.explain(run["job_id"])

    answer = stack.ask("POST", f"/runs/{run['run_id']}/decide", {"status": "SUCCESS"})

    assert "is held" in explained
    assert (answer.status, answer.body["status"]) == (200, "SUCCESS")
    assert stack.run(run["run_id"])["status"] == "SUCCESS"


def test_on_ambiguous_hold_leaves_it_to_a_person_who_wants_it_again(
    stack: Stack, lost: dict[str, dict[str, Any]]
) -> None:
    run = stack.in_run_state(lost["leave"]["run_id"], "HELD")

    stack.ask("POST", f"/runs/{run['run_id']}/decide", {"status": "SCHEDULED"})

    again = stack.in_run_state(run["run_id"], "RUNNING")
    assert again["executor_id"] != lost["leave"]["executor_id"]


def test_on_ambiguous_retry_runs_it_again_on_another_worker_at_no_attempt_s_cost(
    stack: Stack, lost: dict[str, dict[str, Any]]
) -> None:
    for rule in ("retry", "default"):
        before = lost[rule]
        again = stack.in_run_state(before["run_id"], "RUNNING")

        assert again["executor_id"] != before["executor_id"]
        assert again["start_time"] > before["start_time"]
        assert again["attempt_number"] == 1
