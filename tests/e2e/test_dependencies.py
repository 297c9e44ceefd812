"""Jobs that wait for others: each trigger rule, each rule of an edge, and whole graphs."""

from typing import Any

import pytest

from tests.e2e.stack import FAIL, SLEEP, Stack, soon

pytestmark = pytest.mark.usefixtures("checked")

OVER = "SUCCESS", "SKIPPED"


@pytest.fixture(scope="module")
def upstreams(stack: Stack) -> dict[str, str]:
    """By how they end; `running` does not."""
    failing = stack.submit(name="failing", target=FAIL, max_retries=0)
    return {
        "good": stack.submit(name="good"),
        "better": stack.submit(name="better"),
        "failing": failing,
        "skipped": stack.submit(name="skipped", after=[failing]),
        "running": stack.submit(name="running", target=SLEEP, payload=600),
    }


def _ends(stack: Stack, upstreams: dict[str, str], rule: str | None, *names: str) -> dict[str, Any]:
    told = {} if rule is None else {"trigger_rule": rule}
    job = stack.submit(after=[upstreams[name] for name in names], **told)
    return stack.ended(job)[0]


def test_trigger_rule_all_success_runs_when_all_have_succeeded(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    assert _ends(stack, upstreams, "all_success", "good", "better")["status"] == "SUCCESS"


def test_trigger_rule_all_success_skips_as_soon_as_one_has_failed(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    run = _ends(stack, upstreams, "all_success", "running", "failing")

    assert (run["status"], run["reason"]) == ("SKIPPED", "upstream_failed")
    assert "upstream failing ended FAILED" in run["error_message"]


def test_trigger_rule_all_success_is_the_default_and_skipped_is_no_success(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    assert _ends(stack, upstreams, None, "good", "skipped")["reason"] == "upstream_failed"


def test_trigger_rule_all_done_runs_however_they_have_ended(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    run = _ends(stack, upstreams, "all_done", "good", "failing", "skipped")

    assert run["status"] == "SUCCESS"


def test_trigger_rule_all_done_waits_for_every_one(stack: Stack, upstreams: dict[str, str]) -> None:
    job = stack.submit(after=list(upstreams.values()), trigger_rule="all_done")
    [run] = stack.in_state(job, "BLOCKED")

    stack.cancel(upstreams["running"])

    [run] = stack.ended(job)
    [last] = stack.ended(upstreams["running"])
    assert run["status"] == "SUCCESS"
    assert run["start_time"] >= last["end_time"]
    upstreams["running"] = stack.submit(name="running", target=SLEEP, payload=600)


def test_trigger_rule_one_success_does_not_wait_for_the_others(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    run = _ends(stack, upstreams, "one_success", "running", "failing", "good")

    assert run["status"] == "SUCCESS"


def test_trigger_rule_one_success_skips_when_none_has_succeeded(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    run = _ends(stack, upstreams, "one_success", "failing", "skipped")

    assert (run["status"], run["reason"]) == ("SKIPPED", "upstream_failed")


def test_trigger_rule_none_failed_lets_a_skipped_one_pass(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    assert _ends(stack, upstreams, "none_failed", "good", "skipped")["status"] == "SUCCESS"


def test_trigger_rule_none_failed_skips_after_a_failure(
    stack: Stack, upstreams: dict[str, str]
) -> None:
    run = _ends(stack, upstreams, "none_failed", "running", "failing")

    assert (run["status"], run["reason"]) == ("SKIPPED", "upstream_failed")
    stack.cancel(upstreams["running"])


def test_a_job_without_a_schedule_runs_at_each_fire_of_its_upstream(stack: Stack) -> None:
    every_second = {"schedule_type": "CRON", "cron_expression": "* * * * * *"}
    upstream = stack.submit(**every_second, overlap="allow")  # a slow second skips none of them
    job = stack.submit(after=[upstream])

    runs = stack.in_state(job, *OVER, count=2)

    fires = {run["fire_at"]: run for run in stack.runs(upstream)}
    for run in runs[:2]:
        assert run["status"] == "SUCCESS"
        assert run["start_time"] >= fires[run["fire_at"]]["end_time"]
    stack.cancel(upstream, job)


def test_upstream_rule_same_fire_waits_for_the_run_of_the_same_fire(stack: Stack) -> None:
    every_second = {"schedule_type": "CRON", "cron_expression": "* * * * * *"}
    upstream = stack.submit(**every_second, target=SLEEP, payload=0.4)
    job = stack.submit(**every_second, after=[{"job_id": upstream, "rule": "same_fire"}])

    runs = stack.in_state(job, "SUCCESS", count=2)

    fires = {run["fire_at"]: run for run in stack.runs(upstream)}
    for run in runs[:2]:
        assert run["start_time"] >= fires[run["fire_at"]]["end_time"]
    stack.cancel(job, upstream)


def test_upstream_rule_same_fire_is_refused_where_schedules_do_not_align(stack: Stack) -> None:
    upstream = stack.submit(schedule_type="CRON", cron_expression="0 3 * * *")
    edge = {"job_id": upstream, "rule": "same_fire"}
    body = {"name": "a job", "cron_expression": "0 4 * * *", "after": [edge]}

    refused = stack.ask("POST", "/jobs", body)

    assert (refused.status, refused.body["error"]["code"]) == (422, "invalid_graph")


def test_upstream_rule_latest_success_takes_one_that_was_there_before(stack: Stack) -> None:
    upstream = stack.submit(interval_seconds=3600, schedule_type="INTERVAL")
    [before] = stack.ended(upstream)

    edge = {"job_id": upstream, "rule": "latest_success", "within_seconds": 60}
    [run] = stack.ended(stack.submit(schedule_type="FUTURE", schedule_time=soon(0.2), after=[edge]))

    assert run["status"] == "SUCCESS"
    assert before["end_time"] <= run["start_time"]
    stack.cancel(upstream)


def test_upstream_rule_latest_success_waits_where_none_is_recent_enough(stack: Stack) -> None:
    upstream = stack.submit(interval_seconds=3600, schedule_type="INTERVAL")
    stack.ended(upstream)

    edge = {"job_id": upstream, "rule": "latest_success", "within_seconds": 1}
    job = stack.submit(schedule_type="FUTURE", schedule_time=soon(2.5), after=[edge])

    [run] = stack.in_state(job, "BLOCKED")
    assert "waits for its upstreams" in stack.explain(job)
    stack.cancel(job, upstream)
    assert "start_time" not in stack.in_run_state(run["run_id"], "CANCELLED")


def test_upstream_rule_next_after_waits_for_the_first_fire_after_its_own(stack: Stack) -> None:
    upstream = stack.submit(interval_seconds=1, schedule_type="INTERVAL", overlap="allow")
    stack.ended(upstream)
    edge = {"job_id": upstream, "rule": "next_after"}

    [run] = stack.ended(stack.submit(schedule_type="FUTURE", schedule_time=soon(0.3), after=[edge]))

    later = [each for each in stack.runs(upstream) if each["fire_at"] > run["fire_at"]]
    assert run["status"] == "SUCCESS"
    assert run["start_time"] >= later[-1]["end_time"]
    stack.cancel(upstream)


def test_a_run_whose_upstream_never_comes_is_skipped_as_upstream_missing(stack: Stack) -> None:
    upstream = stack.submit(schedule_type="FUTURE", schedule_time=soon(3600))
    edge = {"job_id": upstream, "rule": "latest_success"}

    [run] = stack.ended(stack.submit(schedule_type="IMMEDIATE", after=[edge], blocked_seconds=1))

    assert (run["status"], run["reason"]) == ("SKIPPED", "upstream_missing")


def test_a_workflow_of_a_diamond_runs_in_order(stack: Stack) -> None:
    body = {
        "name": "diamond",
        "jobs": [
            {"key": "top", "name": "Top"},
            {"key": "left", "name": "Left", "after": ["top"], "target": SLEEP, "payload": 0.3},
            {"key": "right", "name": "Right", "after": ["top"]},
            {"key": "bottom", "name": "Bottom", "after": ["left", "right"]},
        ],
    }

    answer = stack.ask("POST", "/workflows", body)

    assert answer.status == 201, answer.text
    runs = {key: stack.ended(job)[0] for key, job in answer.body["jobs"].items()}
    assert {run["status"] for run in runs.values()} == {"SUCCESS"}
    for one, other in ("top", "left"), ("top", "right"), ("left", "bottom"), ("right", "bottom"):
        assert runs[one]["end_time"] <= runs[other]["start_time"]
    job = stack.get(f"/jobs/{answer.body['jobs']['left']}")
    assert job["metadata"]["workflow_id"] == answer.body["workflow_id"]
