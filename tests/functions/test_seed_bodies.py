"""The bodies of the system design (R2.10), field by field as it gives them."""

from datetime import timedelta
from uuid import UUID

from lamplighter.domain.run import Verdict
from tests.functions.calling import Client
from tests.functions.world import NOON, World

CLEANUP = {
    "name": "Daily Data Cleanup",
    "schedule_type": "CRON",
    "cron_expression": "0 0 * * *",
    "payload": {"cleanup_target": "old_logs", "retention_days": 30},
    "max_retries": 2,
}


def test_a_cron_job_is_created_and_read_back(call: Client) -> None:
    created = call("POST", "/jobs", CLEANUP)
    read = call("GET", f"/jobs/{created.body['job_id']}")

    assert (created.status, set(created.body)) == (201, {"job_id"})
    assert read.status == 200
    assert {name: read.body[name] for name in CLEANUP} == CLEANUP
    assert read.body["status"] == "SCHEDULED"
    assert read.body["created_at"] == read.body["updated_at"] == "2030-01-01T12:00:00.000Z"
    assert read.body["next_fire_at"] == "2030-01-02T00:00:00.000Z"


def test_a_future_and_an_immediate_job_are_created(call: Client) -> None:
    time = "2030-01-01T13:00:00Z"
    future = call.submit(schedule_type="FUTURE", schedule_time=time)
    at_once = call.submit(schedule_type="IMMEDIATE")

    assert call("GET", f"/jobs/{future}").body["schedule_time"] == "2030-01-01T13:00:00.000Z"
    assert call("GET", f"/jobs/{at_once}/status").body["latest_run"]["status"] == "QUEUED"


def test_an_update_needs_only_what_changes(call: Client) -> None:
    job_id = call("POST", "/jobs", CLEANUP).body["job_id"]
    body = {"name": "Updated Data Cleanup", "schedule_time": "2030-09-25T10:00:00Z"}

    updated = call("PUT", f"/jobs/{job_id}", body)

    assert updated.status == 200
    assert updated.body["name"] == "Updated Data Cleanup"
    assert updated.body["schedule_type"] == "FUTURE"
    assert "cron_expression" not in updated.body
    assert updated.body["payload"] == CLEANUP["payload"]


def test_a_time_that_has_passed_is_refused(call: Client) -> None:
    job_id = call("POST", "/jobs", CLEANUP).body["job_id"]

    refused = call("PUT", f"/jobs/{job_id}", {"schedule_time": "2025-09-25T10:00:00Z"})

    assert (refused.status, refused.error["field"]) == (422, "schedule_time")


def test_a_job_is_cancelled(call: Client) -> None:
    job_id = call("POST", "/jobs", CLEANUP).body["job_id"]

    assert call("DELETE", f"/jobs/{job_id}").status == 200
    assert call("DELETE", f"/jobs/{job_id}").status == 200
    assert call("GET", f"/jobs/{job_id}").body["status"] == "CANCELLED"


def test_run_now_is_accepted(call: Client) -> None:
    job_id = call("POST", "/jobs", CLEANUP).body["job_id"]

    answer = call("POST", f"/jobs/{job_id}/runNow")

    assert answer.status == 202
    assert len(answer.body["run_ids"]) == 1


def test_the_status_is_that_of_the_latest_run(world: World, call: Client) -> None:
    job_id = call.submit()
    [due] = world.hinted
    world.wind(seconds=1)
    world.claim(due.run_id)

    status = call("GET", f"/jobs/{job_id}/status")

    assert status.body["job_id"] == job_id
    latest = status.body["latest_run"]
    assert latest["run_id"] == str(due.run_id)
    assert latest["status"] == "RUNNING"
    assert latest["start_time"] == latest["modified_time"] == "2030-01-01T12:00:01.000Z"
    assert (latest["attempt_number"], latest["executor_id"]) == (1, "executor-007")


def test_the_runs_are_a_bare_array_with_what_went_wrong(world: World, call: Client) -> None:
    job_id = call.submit(max_retries=0)
    [due] = world.hinted
    world.finish(due.run_id, world.claim(due.run_id), Verdict.FAILED, "Database connection failed")

    runs = call("GET", f"/jobs/{job_id}/runs")

    [run] = runs.body
    assert run["status"] == "FAILED"
    assert run["error_message"] == "Database connection failed"
    assert {"run_id", "start_time", "end_time", "modified_time", "attempt_number"} <= set(run)


def test_command_and_dependencies_at_the_top_level_are_understood(
    world: World, call: Client
) -> None:
    first = call.submit(command="make data", timeout_seconds=3600, metadata={"team": "a"})
    second = call.submit(command="make report", dependencies=[first])

    job = world.ledger.job("default", UUID(second))
    assert job.target == {"type": "command", "command": "make report"}
    assert [edge.job_id for edge in job.after] == [first]
    assert call("GET", f"/jobs/{second}").body["schedule_type"] == "AFTER"
    assert call("GET", f"/jobs/{second}/status").body["latest_run"]["status"] == "BLOCKED"


def test_a_run_due_later_is_scheduled_not_queued(world: World, call: Client) -> None:
    job_id = call.submit(schedule_time=(NOON + timedelta(minutes=1)).isoformat())

    assert call("GET", f"/jobs/{job_id}/status").body["latest_run"]["status"] == "SCHEDULED"
    world.wind(minutes=1)
    assert call("GET", f"/jobs/{job_id}/status").body["latest_run"]["status"] == "QUEUED"
