"""What one sees of it all: metrics, rollups, workers, logs, explanations."""

import re

import pytest

from tests.e2e.stack import FAIL, SLEEP, Stack, soon, until

pytestmark = pytest.mark.usefixtures("checked")


def test_metrics_count_what_ran_per_class_and_pool(stack: Stack) -> None:
    succeeded = {"class": "P4", "pool": "tasks", "status": "SUCCESS"}
    failed = {"class": "P1", "pool": "default", "status": "FAILED"}
    before = _counted(stack, succeeded), _counted(stack, failed)

    stack.ended(stack.submit(priority=10, pool="tasks"))
    stack.ended(stack.submit(priority=1, target=FAIL, max_retries=0))

    until(lambda: _counted(stack, succeeded) > before[0], "the success is counted")
    until(lambda: _counted(stack, failed) > before[1], "the failure is counted")
    text = stack.ask("GET", "/metrics").text
    assert 'lamplighter_workers{pool="eu"} 1' in text
    assert "lamplighter_queue_depth" in text


def _counted(stack: Stack, labels: dict[str, str]) -> float:
    found = re.findall(
        r"^lamplighter_runs_last_hour\{(.*)\} (\S+)$",
        stack.ask("GET", "/metrics").text,
        re.MULTILINE,
    )
    return sum(
        float(value)
        for text, value in found
        if dict(re.findall(r'(\w+)="([^"]*)"', text)) == labels
    )


def test_stats_count_what_ended_by_status(stack: Stack) -> None:
    before = stack.get("/stats?minutes=60")["total"]

    stack.ended(stack.submit(target=FAIL, max_retries=0))

    after = until(
        lambda: found if (found := stack.get("/stats")["total"])["runs"] > before["runs"] else None,
        "one more",
    )
    assert after["by_status"]["FAILED"] >= before["by_status"].get("FAILED", 0) + 1
    assert after["mean_lateness_ms"] >= 0


def test_runs_are_found_by_status_pool_and_job(stack: Stack) -> None:
    job = stack.submit(pool="eu")
    [run] = stack.ended(job)

    found = stack.get(f"/runs?job_id={job}&pool=eu&status=SUCCESS")["runs"]

    assert [each["run_id"] for each in found] == [run["run_id"]]
    assert stack.get(f"/runs?job_id={job}&status=FAILED")["runs"] == []


def test_a_log_is_read_while_its_run_goes_on_and_to_its_end(stack: Stack) -> None:
    job = stack.submit(command="echo one; read line; sleep 0.5; echo two >&2", payload="go")
    [run] = stack.in_state(job, "RUNNING", "SUCCESS")
    path = f"/runs/{run['run_id']}/log"

    begun = until(
        lambda: found if (found := stack.ask("GET", path)).text else None, "the first line"
    )
    stack.ended(job)
    rest = stack.ask("GET", f"{path}?offset={begun.headers['log-next-offset']}")

    assert begun.text + rest.text == "one\ntwo\n"
    assert rest.headers["run-status"] == "SUCCESS"


def test_explain_says_in_one_sentence_what_is_with_a_job(stack: Stack) -> None:
    running = stack.submit(name="long", target=SLEEP, payload=600)
    blocked = stack.submit(name="next", after=[running])
    future = stack.submit(name="later", schedule_time=soon(3600), schedule_type="FUTURE")
    done = stack.submit(name="done")
    stack.in_state(running, "RUNNING")
    stack.ended(done)

    assert "has been running since" in stack.explain(running)
    assert "waits for its upstreams: 'long' (RUNNING)" in stack.explain(blocked)
    assert "has not run yet, because it is due at" in stack.explain(future)
    assert "succeeded at" in stack.explain(done)
    stack.cancel(running, blocked, future)
    stack.in_state(running, "CANCELLED")
    assert "was cancelled at" in stack.explain(running)


def test_it_is_alive_and_ready(stack: Stack) -> None:
    assert stack.ask("GET", "/healthz").status == 200
    assert stack.get("/readyz")["checks"] == {"ledger": "ok", "queue": "ok", "bus": "ok"}
