"""Attempts: tried again, given up, stopped in time, cancelled."""

import os
from datetime import timedelta
from typing import Any

import pytest

from tests.e2e.stack import FAIL, SLEEP, Stack, instant, soon, until

pytestmark = pytest.mark.usefixtures("checked")

QUICK = {"base_seconds": 0.1, "factor": 2, "jitter": False}
# Neither it nor its child heeds SIGTERM; it prints who they are.
STUBBORN = "trap '' TERM; sleep 600 & echo $! $$; while :; do wait; done"
# The promise is a second; this machine may be busy.
A_MOMENT = timedelta(seconds=5)


def test_a_run_that_fails_is_tried_again_after_its_backoff(stack: Stack) -> None:
    payload = {"attempts": 2, "message": "not yet"}
    job = stack.submit(target=FAIL, payload=payload, max_retries=3, backoff=QUICK)

    [run] = stack.ended(job)

    assert (run["status"], run["attempt_number"]) == ("SUCCESS", 3)
    assert [each["error_message"] for each in run["attempts"]] == ["not yet", "not yet"]
    first, second = run["attempts"]
    assert _pause(first, second["started_at"]) >= timedelta(seconds=0.1)
    assert _pause(second, run["start_time"]) >= timedelta(seconds=0.2)


def _pause(attempt: dict[str, Any], following: str) -> timedelta:
    return instant(following) - instant(attempt["ended_at"])


def test_a_run_whose_attempts_are_used_up_has_failed(stack: Stack) -> None:
    job = stack.submit(target=FAIL, max_retries=2, backoff=QUICK)

    [run] = stack.ended(job)

    assert (run["status"], run["attempt_number"]) == ("FAILED", 3)
    assert [each["attempt_number"] for each in run["attempts"]] == [1, 2, 3]
    assert "failed" in stack.explain(job)
    assert "after 3 attempts" in stack.explain(job)


def test_a_run_between_two_attempts_says_when_the_next_one_is(stack: Stack) -> None:
    job = stack.submit(target=FAIL, backoff={"base_seconds": 600, "jitter": False})

    [run] = stack.in_state(job, "RETRYING")

    assert "failed at attempt 1 of 4" in stack.explain(job)
    assert "tries again at" in stack.explain(job)
    stack.cancel(job)
    assert stack.run(run["run_id"])["status"] == "CANCELLED"


def test_an_error_that_is_non_retryable_ends_the_run_at_once(stack: Stack) -> None:
    job = stack.submit(target=FAIL, payload={"retryable": False, "message": "never"})

    [run] = stack.ended(job)

    assert (run["status"], run["attempt_number"]) == ("FAILED", 1)
    assert run["error_message"] == "never"


def test_a_timeout_kills_a_command_that_will_not_stop_and_its_child(stack: Stack) -> None:
    target = {"type": "command", "command": STUBBORN, "grace_seconds": 0.2}

    [run] = stack.ended(stack.submit(target=target, timeout_seconds=1, max_retries=0))

    assert run["status"] == "TIMED_OUT"
    pids = [int(word) for word in run["stdout"].split()]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_timeout_is_an_attempt(stack: Stack) -> None:
    job = stack.submit(
        target=SLEEP, payload=600, timeout_seconds=1, max_retries=1, backoff={"base_seconds": 0.01}
    )

    [run] = stack.ended(job)

    assert (run["status"], run["attempt_number"]) == ("TIMED_OUT", 2)
    assert "ran out of its time of 1 s" in stack.explain(job)


def test_a_job_that_waits_is_cancelled_at_once(stack: Stack) -> None:
    job = stack.submit(schedule_type="FUTURE", schedule_time=soon(3600))
    failing = stack.submit(target=SLEEP, payload=600)
    blocked = stack.submit(after=[failing])

    stack.cancel(job, blocked, failing)

    assert stack.get(f"/jobs/{job}")["status"] == "CANCELLED"
    assert stack.get(f"/jobs/{blocked}/status")["latest_run"]["status"] == "CANCELLED"
    assert "was cancelled at" in stack.explain(job)


def test_running_jobs_are_cancelled_within_a_moment(stack: Stack) -> None:
    in_python = stack.submit(target=SLEEP, payload=600)
    command = stack.submit(command="echo $$; exec sleep 600")
    stack.in_state(in_python, "RUNNING")
    [run] = stack.in_state(command, "RUNNING")
    log = f"/runs/{run['run_id']}/log"
    pid = int(until(lambda: stack.ask("GET", log).text or None, "it has begun"))

    stack.cancel(in_python, command)

    for job in (in_python, command):
        [run] = stack.ended(job)
        asked = instant(stack.get(f"/jobs/{job}")["updated_at"])
        assert run["status"] == "CANCELLED"
        assert instant(run["end_time"]) - asked < A_MOMENT
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_one_run_is_cancelled_and_its_job_goes_on(stack: Stack) -> None:
    job = stack.submit(
        schedule_type="INTERVAL", interval_seconds=1, target=SLEEP, payload=600, overlap="queue"
    )
    [first] = stack.in_state(job, "RUNNING")

    answer = stack.ask("POST", f"/runs/{first['run_id']}/cancel")

    assert (answer.status, answer.body["status"]) == (200, "CANCELLING")
    assert stack.in_run_state(first["run_id"], "CANCELLED")
    stack.in_state(job, "RUNNING")
    stack.cancel(job)
