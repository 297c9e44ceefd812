"""Every kind of job, over both buses: submitted over HTTP, run at its time, once."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.stack import Stack, until

pytestmark = pytest.mark.usefixtures("checked")


def test_an_immediate_job_runs_and_its_result_is_kept(stack: Stack) -> None:
    job = stack.submit(payload={"hello": "lamp"})

    [run] = stack.ended(job)

    assert run["status"] == "SUCCESS"
    assert "lamp" in str(run["result"])


def test_a_future_job_starts_at_its_time_and_not_before(stack: Stack) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2)

    [run] = stack.ended(stack.submit(schedule_type="FUTURE", schedule_time=at.isoformat()))

    assert run["status"] == "SUCCESS"
    assert datetime.fromisoformat(run["fire_at"]) == at
    assert datetime.fromisoformat(run["start_time"]) >= at


def test_a_cron_job_fires_every_second(stack: Stack) -> None:
    job = stack.submit(schedule_type="CRON", cron_expression="* * * * * *")

    runs = stack.ended(job, count=3)
    assert stack.ask("DELETE", f"/jobs/{job}").status == 200

    fires = [datetime.fromisoformat(run["fire_at"]) for run in runs[:3]]
    assert [b - a for a, b in itertools.pairwise(fires)] == [timedelta(seconds=1)] * 2


def test_a_command_s_output_and_log_are_kept(stack: Stack) -> None:
    job = stack.submit(command="echo to you; echo and you >&2")

    [run] = stack.ended(job)

    assert (run["status"], run["stdout"], run["stderr"]) == ("SUCCESS", "to you\n", "and you\n")
    assert stack.ask("GET", f"/runs/{run['run_id']}/log").text == "to you\nand you\n"


def test_a_job_after_two_others_runs_when_both_have_ended(stack: Stack) -> None:
    first, second = stack.submit(), stack.submit(command="sleep 0.5")
    job = stack.submit(after=[first, second])

    [run] = stack.ended(job)

    [upstream] = stack.ended(second)
    assert run["status"] == "SUCCESS"
    assert run["start_time"] >= upstream["end_time"]


def test_a_running_job_is_cancelled(stack: Stack) -> None:
    job = stack.submit(target={"type": "python", "handler": "builtin.sleep"}, payload=600)
    stack.in_state(job, "RUNNING")

    assert stack.ask("DELETE", f"/jobs/{job}").status == 200

    [run] = stack.ended(job)
    assert run["status"] == "CANCELLED"


def test_it_was_said_that_the_workers_live(stack: Stack) -> None:
    workers = until(
        lambda: found if len(found := stack.get("/workers")["workers"]) >= 3 else None, "workers"
    )

    assert {worker["pool"] for worker in workers} == {"default", "tasks", "eu"}
    assert {worker["status"] for worker in workers} == {"ALIVE"}
