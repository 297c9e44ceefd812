"""The bodies of the system design, as they stand there, all the way to a finished run."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.e2e.stack import Stack

pytestmark = pytest.mark.usefixtures("checked")

CREATE = """
        {
          "name": "Daily Data Cleanup",
          "schedule_type": "CRON",
          "cron_expression": "0 0 * * *",
          "payload": {
            "cleanup_target": "old_logs",
            "retention_days": 30
          },
          "max_retries": 2
        }
"""
UPDATE = """
        {
          "name": "Updated Data Cleanup",
          "schedule_time": "2025-09-25T10:00:00Z"
        }
"""
LATEST_RUN = {
    "run_id", "status", "start_time", "modified_time", "attempt_number", "executor_id"
}  # fmt: skip
RUN = {"run_id", "status", "start_time", "end_time", "modified_time", "attempt_number"}


def _create(stack: Stack, **instead: Any) -> str:
    answer = stack.ask("POST", "/jobs", json.loads(CREATE) | instead)
    assert (answer.status, set(answer.body)) == (201, {"job_id"})
    return str(answer.body["job_id"])


def test_the_job_is_created_run_now_read_and_cancelled(stack: Stack) -> None:
    job = _create(stack)
    read = stack.get(f"/jobs/{job}")

    now = stack.ask("POST", f"/jobs/{job}/runNow")
    run = stack.in_run_state(now.body["run_ids"][0], "SUCCESS")
    status = stack.get(f"/jobs/{job}/status")
    runs = stack.get(f"/jobs/{job}/runs")
    cancelled = stack.ask("DELETE", f"/jobs/{job}")

    assert json.loads(CREATE).items() <= read.items()
    assert {"job_id", "status", "created_at", "updated_at"} <= set(read)
    assert now.status == 202
    assert run["result"] == {"cleanup_target": "old_logs", "retention_days": 30}
    assert status["job_id"] == job
    assert set(status["latest_run"]) >= LATEST_RUN
    assert [each["run_id"] for each in runs] == [run["run_id"]]
    assert set(runs[0]) >= RUN
    assert cancelled.status == 200


def test_the_update_makes_it_a_one_off_that_runs_at_its_time(stack: Stack) -> None:
    """Its time has passed since: first it is refused, then it is one that is to come."""
    job = _create(stack)
    refused = stack.ask("PUT", f"/jobs/{job}", json.loads(UPDATE))
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)
    body = json.loads(UPDATE) | {"schedule_time": at.isoformat().replace("+00:00", "Z")}

    answer = stack.ask("PUT", f"/jobs/{job}", body)

    assert (refused.status, refused.body["error"]["field"]) == (422, "schedule_time")
    assert (answer.status, answer.body["name"]) == (200, "Updated Data Cleanup")
    [run] = stack.ended(job)
    assert (run["status"], datetime.fromisoformat(run["fire_at"])) == ("SUCCESS", at)


def test_a_future_job_takes_a_time_instead_of_the_expression(stack: Stack) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

    job = _create(stack, schedule_type="FUTURE", cron_expression=None, schedule_time=at)

    assert stack.ended(job)[0]["status"] == "SUCCESS"


def test_an_immediate_job_takes_neither(stack: Stack) -> None:
    job = _create(stack, schedule_type="IMMEDIATE", cron_expression=None)

    assert stack.ended(job)[0]["status"] == "SUCCESS"


def test_a_run_that_failed_says_why_among_the_runs(stack: Stack) -> None:
    fail = {"type": "python", "handler": "builtin.fail"}
    payload = {"message": "Database connection failed"}
    job = _create(
        stack, schedule_type="IMMEDIATE", cron_expression=None, target=fail, payload=payload,
        max_retries=0,
    )  # fmt: skip
    stack.ended(job)

    [run] = stack.get(f"/jobs/{job}/runs")

    assert set(run) >= RUN
    assert (run["status"], run["error_message"]) == ("FAILED", "Database connection failed")


def test_command_and_dependencies_at_the_top_level_are_understood(stack: Stack) -> None:
    first = stack.submit(command="echo data", timeout_seconds=3600, metadata={"team": "a"})
    second = stack.ask(
        "POST", "/jobs", {"name": "report", "command": "echo report", "dependencies": [first]}
    ).body["job_id"]

    [one], [other] = stack.ended(first), stack.ended(second)

    assert (one["stdout"], other["stdout"]) == ("data\n", "report\n")
    assert one["end_time"] <= other["start_time"]
