"""Who may run when: pools, order, limits, priorities, deadlines, jitter."""

import itertools
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.e2e.stack import SLEEP, Stack, instant, soon

pytestmark = pytest.mark.usefixtures("checked")

PLACES = 32  # of a worker


def test_fan_out_makes_a_run_in_each_pool_and_a_dependent_waits_for_all(stack: Stack) -> None:
    job = stack.submit(fan_out=["default", "tasks", "eu"], target=SLEEP, payload=0.1)
    after = stack.submit(after=[job])

    runs = stack.ended(job, count=3)

    workers = {each["worker_id"]: each["pool"] for each in stack.get("/workers")["workers"]}
    assert {run["pool"] for run in runs} == {"default", "tasks", "eu"}
    assert {run["status"] for run in runs} == {"SUCCESS"}
    assert all(workers[run["executor_id"]] == run["pool"] for run in runs)
    [last] = stack.ended(after)
    assert last["start_time"] >= max(run["end_time"] for run in runs)


def test_ordering_key_runs_one_at_a_time_in_the_order_of_fires(stack: Stack) -> None:
    """Across jobs, pools and classes: the most urgent one is last here."""
    key, told = str(uuid4()), {"target": SLEEP, "payload": 0.1, "schedule_type": "FUTURE"}
    jobs = [
        stack.submit(
            **told, ordering_key=key, priority=11 - n, pool=pool, schedule_time=soon(n / 5)
        )
        for n, pool in enumerate(["default", "tasks", "default", "tasks"], 1)
    ]

    runs = [stack.ended(job)[0] for job in jobs]

    assert {run["status"] for run in runs} == {"SUCCESS"}
    assert _one_by_one(runs)


def test_ordering_key_holds_while_the_first_is_tried_again(stack: Stack) -> None:
    key = str(uuid4())
    fail = {"type": "python", "handler": "builtin.fail"}
    first = stack.submit(
        ordering_key=key, target=fail, payload={"attempts": 1}, backoff={"base_seconds": 0.2}
    )
    second = stack.submit(ordering_key=key, priority=1)

    [one], [other] = stack.ended(first), stack.ended(second)

    assert one["attempt_number"] == 2
    assert other["start_time"] >= one["end_time"]


def test_max_concurrency_bounds_the_runs_of_one_job(stack: Stack) -> None:
    """All are due at once: asked for one by one, each may be over before the next is there."""
    job = stack.submit(
        schedule_type="CRON", cron_expression="0 * * * *", overlap="allow", max_concurrency=2,
        target=SLEEP, payload=1,
    )  # fmt: skip
    body = {"start": soon(-5 * 3600), "max_runs": 5, "at_once": 5}

    ids = stack.ask("POST", f"/jobs/{job}/backfill", body).body["run_ids"]

    runs = [stack.in_run_state(run_id, "SUCCESS") for run_id in ids]
    assert (len(runs), _most_at_once(runs)) == (5, 2)
    stack.cancel(job)


def test_concurrency_key_bounds_the_runs_of_several_jobs(stack: Stack) -> None:
    told = {"concurrency_key": str(uuid4()), "max_concurrency": 1, "target": SLEEP, "payload": 0.2}
    jobs = [stack.submit(**told, pool=pool) for pool in ("default", "tasks", "default")]

    waiting = next(job for job in reversed(jobs) if "RUNNING" not in str(stack.runs(job)))
    explained = stack.explain(waiting)
    runs = [stack.ended(job)[0] for job in jobs]

    assert _most_at_once(runs) == 1
    assert "Job 'a job'" in explained


def test_a_more_urgent_job_overtakes_those_that_wait_for_a_full_pool(stack: Stack) -> None:
    """Priority binds late: of what waits, four runs at most lie on the bus of `eu` already.

    And with it come three others at most, which a worker may find before it: seven in all.
    """
    holding = stack.submit(
        cron_expression="0 * * * *", schedule_type="CRON", overlap="allow", pool="eu",
        target=SLEEP, payload=600,
    )  # fmt: skip
    body = {"start": soon(-PLACES * 3600), "max_runs": PLACES, "at_once": PLACES}
    assert stack.ask("POST", f"/jobs/{holding}/backfill", body).status == 202
    [place, *_] = stack.in_state(holding, "RUNNING", count=PLACES)
    slow = [stack.submit(pool="eu", priority=10, target=SLEEP, payload=0.05) for _ in range(10)]
    urgent = stack.submit(pool="eu", priority=1)
    explained = stack.explain(urgent)

    stack.ask("POST", f"/runs/{place['run_id']}/cancel")

    [first] = stack.ended(urgent)
    starts = sorted(stack.ended(job)[0]["start_time"] for job in slow)
    stack.cancel(holding)
    stack.in_state(holding, "CANCELLED", count=PLACES)
    assert first["start_time"] < starts[7]
    assert "no worker of pool 'eu' has claimed it yet" in explained


def test_expires_at_ends_a_run_that_could_not_start_before(stack: Stack) -> None:
    key = str(uuid4())
    first = stack.submit(ordering_key=key, target=SLEEP, payload=600)
    stack.in_state(first, "RUNNING")

    by_expiry = stack.submit(ordering_key=key, expires_at=soon(2))
    by_deadline = stack.submit(ordering_key=key, start_deadline_seconds=1)

    for job in (by_expiry, by_deadline):
        [run] = stack.ended(job)
        assert (run["status"], run["reason"]) == ("SKIPPED", "expired")
        assert "before its deadline or expires_at" in stack.explain(job)
    stack.cancel(first)


def test_start_deadline_seconds_leaves_a_run_that_starts_in_time_alone(stack: Stack) -> None:
    [run] = stack.ended(stack.submit(start_deadline_seconds=60, expires_at=soon(60)))

    assert run["status"] == "SUCCESS"


def test_jitter_seconds_delays_the_start_and_never_the_fire(stack: Stack) -> None:
    fire = soon(0.2)
    jobs = [
        stack.submit(schedule_type="FUTURE", schedule_time=fire, jitter_seconds=2) for _ in range(5)
    ]

    runs = [stack.ended(job)[0] for job in jobs]

    assert len({run["fire_at"] for run in runs}) == 1
    delays = {instant(run["due_at"]) - instant(run["fire_at"]) for run in runs}
    assert len(delays) > 1
    assert all(timedelta(0) <= delay <= timedelta(seconds=2) for delay in delays)
    assert all(run["start_time"] >= run["due_at"] for run in runs)


def _one_by_one(runs: list[dict[str, Any]]) -> bool:
    return all(one["end_time"] <= other["start_time"] for one, other in itertools.pairwise(runs))


def _most_at_once(runs: list[dict[str, Any]]) -> int:
    """Where one ends as another starts, the end comes first."""
    moments = sorted(
        [(run["start_time"], 1) for run in runs] + [(run["end_time"], -1) for run in runs]
    )
    return max(itertools.accumulate(step for _, step in moments))
