"""Deadlines of classes: how long a run may take whose job does not say. Last: a minute passes."""

from datetime import timedelta
from typing import Any

import pytest

from tests.e2e.stack import Stack, instant, until

pytestmark = pytest.mark.usefixtures("checked")

MINUTE = timedelta(minutes=1)


def test_a_run_without_a_timeout_ends_at_the_limit_of_its_class(
    stack: Stack, sleepers: dict[str, str]
) -> None:
    [run] = _timed_out(stack, sleepers["P1"])

    took = instant(run["end_time"]) - instant(run["start_time"])
    assert MINUTE <= took < MINUTE + timedelta(seconds=15)
    assert "the limit of class P1" in run["error_message"]
    assert run["attempt_number"] == 1


@pytest.mark.parametrize(("job_class", "minutes"), [("P2", 5), ("P3", 30), ("P4", 60)])
def test_a_less_urgent_class_has_longer(
    stack: Stack, sleepers: dict[str, str], job_class: str, minutes: int
) -> None:
    """All began together: where the most urgent has run out of time, these go on."""
    _timed_out(stack, sleepers["P1"])

    [run] = stack.runs(sleepers[job_class])

    if run["status"] != "RUNNING":  # other tests took longer than that
        assert run["status"] == "TIMED_OUT"
        assert instant(run["end_time"]) - instant(run["start_time"]) >= minutes * MINUTE


def _timed_out(stack: Stack, job_id: str) -> list[dict[str, Any]]:
    """Run alone, this waits for the whole minute, and for the stop of what ran."""
    until(lambda: stack.runs(job_id)[0]["status"] == "TIMED_OUT" or None, "timed out", 120)
    return stack.ended(job_id)
