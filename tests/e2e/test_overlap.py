"""What a fire does while an earlier run of its job is unfinished: each value of `overlap`."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.stack import SLEEP, Stack, until

pytestmark = pytest.mark.usefixtures("checked")


@pytest.fixture(scope="module")
def jobs(stack: Stack) -> Iterator[dict[str, str]]:
    """By overlap, jobs that fire every second and whose runs would take ten minutes."""
    every_second = {"interval_seconds": 1, "schedule_type": "INTERVAL", "payload": 600}
    made = {
        overlap: stack.submit(**every_second, target=SLEEP, overlap=overlap)
        for overlap in ("forbid", "allow", "queue", "replace")
    }
    made["default"] = stack.submit(**every_second, target=SLEEP)
    yield made
    stack.cancel(*made.values())


def test_overlap_forbid_skips_a_fire_while_another_runs(stack: Stack, jobs: dict[str, str]) -> None:
    job = jobs["forbid"]

    skipped = stack.in_state(job, "SKIPPED", count=2)

    assert {run["reason"] for run in skipped} == {"overlap"}
    assert [run["status"] for run in stack.runs(job)].count("RUNNING") == 1
    assert "overlap is forbid" in stack.get(f"/runs/{skipped[0]['run_id']}/explain")["explanation"]


def test_overlap_forbid_is_the_default_of_a_job_that_repeats(
    stack: Stack, jobs: dict[str, str]
) -> None:
    [skipped, *_] = stack.in_state(jobs["default"], "SKIPPED")

    assert skipped["reason"] == "overlap"


def test_overlap_allow_runs_beside_the_earlier_one(stack: Stack, jobs: dict[str, str]) -> None:
    runs = stack.in_state(jobs["allow"], "RUNNING", count=2)

    assert runs[0]["fire_at"] < runs[1]["fire_at"]


def test_overlap_queue_waits_until_the_earlier_one_has_ended(
    stack: Stack, jobs: dict[str, str]
) -> None:
    [first] = stack.in_state(jobs["queue"], "RUNNING")
    stack.in_state(jobs["queue"], "PARKED")
    later = [run for run in stack.runs(jobs["queue"]) if run["fire_at"] > first["fire_at"]]
    waiting = stack.in_run_state(later[-1]["run_id"], "PARKED")

    stack.ask("POST", f"/runs/{first['run_id']}/cancel")

    second = stack.in_run_state(waiting["run_id"], "RUNNING")
    first = stack.run(first["run_id"])
    assert first["status"] == "CANCELLED"
    assert second["start_time"] >= first["end_time"]


def test_overlap_replace_cancels_the_earlier_one_then_runs(
    stack: Stack, jobs: dict[str, str]
) -> None:
    [first, *_] = stack.in_state(jobs["replace"], "CANCELLED")

    second = until(lambda: _next_started(stack, first), "a later one has started")

    assert "start_time" in first
    assert second["start_time"] >= first["end_time"]


def _next_started(stack: Stack, first: dict[str, Any]) -> dict[str, Any] | None:
    """Not simply the next: one that still waits is replaced by the fire after it, too."""
    oldest_first = stack.runs(first["job_id"])[::-1]
    later = [run for run in oldest_first if run["fire_at"] > first["fire_at"]]
    return next((run for run in later if "start_time" in run), None)
