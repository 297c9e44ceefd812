"""What becomes of a job when people change their minds, or ask for more."""

import itertools
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from tests.e2e.stack import FAIL, SLEEP, Stack, instant, soon, until

pytestmark = pytest.mark.usefixtures("checked")

EVERY_SECOND = {"schedule_type": "CRON", "cron_expression": "* * * * * *"}
FAR = {"schedule_type": "CRON", "cron_expression": "0 0 1 1 *"}


def test_the_fires_of_a_paused_job_are_recorded_as_skipped(stack: Stack) -> None:
    job = stack.submit(**EVERY_SECOND, overlap="allow")  # a slow second is no reason here
    stack.ended(job)

    paused = stack.ask("POST", f"/jobs/{job}/pause")
    skipped = stack.in_state(job, "SKIPPED")
    explained = stack.explain(job)
    resumed = stack.ask("POST", f"/jobs/{job}/resume")

    assert (paused.status, paused.body["status"]) == (200, "PAUSED")
    assert (resumed.status, resumed.body["status"]) == (200, "SCHEDULED")
    assert {run["reason"] for run in skipped} == {"paused"}
    assert "paused" in explained
    since = skipped[-1]["fire_at"]
    until(
        lambda: any(
            run["status"] == "SUCCESS" and run["fire_at"] > since for run in stack.runs(job)
        ),
        "it runs again",
    )
    assert stack.run(skipped[0]["run_id"])["status"] == "SKIPPED"
    stack.cancel(job)


def test_run_now_runs_beside_the_schedule_and_does_not_shift_it(stack: Stack) -> None:
    job = stack.submit(**FAR)
    planned = stack.get(f"/jobs/{job}/fires?count=2")

    answer = stack.ask("POST", f"/jobs/{job}/runNow")

    assert answer.status == 202
    run = stack.in_run_state(answer.body["run_ids"][0], "SUCCESS")
    assert run["origin"].startswith("now:")
    assert stack.get(f"/jobs/{job}/fires?count=2") == planned
    assert len(stack.runs(job)) == 1
    stack.cancel(job)


def test_run_now_under_one_key_makes_one_run(stack: Stack) -> None:
    job, key = stack.submit(**FAR), {"Idempotency-Key": str(uuid4())}

    first, again = (stack.ask("POST", f"/jobs/{job}/runNow", headers=key) for _ in range(2))

    assert first.body["run_ids"] == again.body["run_ids"]
    assert again.headers["idempotency-replayed"] == "true"
    stack.in_run_state(first.body["run_ids"][0], "SUCCESS")
    assert len(stack.runs(job)) == 1
    stack.cancel(job)


def test_run_now_runs_those_that_follow_where_that_is_asked_for(stack: Stack) -> None:
    root = stack.submit(name="root", **FAR)
    other = stack.submit(name="other", **FAR)
    bad = stack.submit(name="bad", after=[root], target=FAIL, max_retries=0)
    good = stack.submit(name="good", after=[root, other])
    last = stack.submit(name="last", after=[good])
    never = stack.submit(name="never", after=[good, bad])

    answer = stack.ask("POST", f"/jobs/{root}/runNow", {"cascade": True})

    assert answer.status == 202
    run = stack.in_run_state(answer.body["run_ids"][0], "SUCCESS")
    runs = {job: stack.ended(job)[0] for job in (bad, good, last, never)}
    states = [runs[job]["status"] for job in (bad, good, last, never)]
    assert states == ["FAILED", "SUCCESS", "SUCCESS", "SKIPPED"]
    assert {(each["origin"], each["fire_at"]) for each in runs.values()} == {
        (run["origin"], run["fire_at"])
    }
    assert run["end_time"] <= runs[good]["start_time"] <= runs[last]["start_time"]
    assert stack.runs(other) == []
    for job in (last, never, good, bad, root, other):
        stack.cancel(job)


def test_run_now_runs_also_while_the_job_is_paused(stack: Stack) -> None:
    job = stack.submit(**FAR)
    stack.ask("POST", f"/jobs/{job}/pause")

    answer = stack.ask("POST", f"/jobs/{job}/runNow")

    stack.in_run_state(answer.body["run_ids"][0], "SUCCESS")
    stack.cancel(job)


def test_a_backfill_runs_the_fires_of_a_past_range(stack: Stack) -> None:
    job = stack.submit(schedule_type="CRON", cron_expression="0 * * * *")
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start, end = now - timedelta(hours=5), now - timedelta(hours=2)

    answer = stack.ask(
        "POST", f"/jobs/{job}/backfill", {"start": start.isoformat(), "end": end.isoformat()}
    )

    assert (answer.status, answer.body["fires"]) == (202, 3)
    runs = [stack.in_run_state(each, "SUCCESS") for each in answer.body["run_ids"]]
    fires = [start, start + timedelta(hours=1), start + timedelta(hours=2)]
    assert sorted(instant(run["fire_at"]) for run in runs) == fires
    assert {run["origin"] for run in runs} == {f"backfill:{answer.body['backfill_id']}:at_once=10"}
    stack.cancel(job)


def test_a_backfill_keeps_to_its_budget(stack: Stack) -> None:
    job = stack.submit(
        schedule_type="CRON",
        cron_expression="0 * * * *",
        target=SLEEP,
        payload=0.1,
        overlap="allow",
    )
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    body = {"start": (now - timedelta(hours=4)).isoformat(), "at_once": 1}

    answer = stack.ask("POST", f"/jobs/{job}/backfill", body)

    runs = [stack.in_run_state(each, "SUCCESS") for each in answer.body["run_ids"]]
    spans = sorted((run["start_time"], run["end_time"]) for run in runs)
    assert len(spans) >= 4
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    stack.cancel(job)


def test_a_put_changes_what_it_names_and_reschedules(stack: Stack) -> None:
    job = stack.submit(**FAR, payload={"a": 1}, tags=["kept"])

    answer = stack.ask("PUT", f"/jobs/{job}", {"cron_expression": "* * * * * *", "payload": "b"})

    assert answer.status == 200
    assert (answer.body["name"], answer.body["tags"]) == ("a job", ["kept"])
    [run, *_] = stack.ended(job)
    assert (run["status"], run["result"]) == ("SUCCESS", "b")
    stack.cancel(job)


def test_a_job_that_is_put_off_no_longer_fires(stack: Stack) -> None:
    job = stack.submit(**EVERY_SECOND)
    stack.ended(job)

    answer = stack.ask("PUT", f"/jobs/{job}", {"cron_expression": "0 0 1 1 *"})

    changed = instant(answer.body["updated_at"])
    control = stack.submit(schedule_type="FUTURE", schedule_time=soon(1.5))
    stack.ended(control)
    assert all(instant(run["fire_at"]) <= changed for run in stack.runs(job))
    stack.cancel(job)


def test_a_schedule_time_put_on_a_cron_job_makes_it_a_one_off(stack: Stack) -> None:
    job = stack.submit(**EVERY_SECOND)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=2.5)
    at = at.replace(microsecond=500_000)

    answer = stack.ask("PUT", f"/jobs/{job}", {"schedule_time": at.isoformat()})

    assert answer.status == 200, answer.text
    assert answer.body["schedule_type"] == "FUTURE"
    assert "cron_expression" not in answer.body
    control = stack.submit(schedule_type="FUTURE", schedule_time=(at + timedelta(1e-5)).isoformat())
    stack.ended(control)
    changed = instant(answer.body["updated_at"])
    fires = [instant(run["fire_at"]) for run in stack.runs(job)]
    assert [fire for fire in fires if fire > changed] == [at]
    assert "no fire left" in stack.explain(job)


def test_an_edit_of_a_version_that_was_left_is_refused(stack: Stack) -> None:
    job = stack.submit(**FAR)
    tag = stack.ask("GET", f"/jobs/{job}").headers["etag"]

    first, second = (
        stack.ask("PUT", f"/jobs/{job}", {"payload": n}, {"If-Match": tag}) for n in (1, 2)
    )

    assert (first.status, second.status) == (200, 412)
    stack.cancel(job)


def test_a_cancelled_job_is_read_and_not_changed(stack: Stack) -> None:
    job = stack.submit(**FAR)
    stack.cancel(job, job)

    refused = stack.ask("PUT", f"/jobs/{job}", {"payload": 1})

    assert (refused.status, refused.body["error"]["code"]) == (409, "job_ended")
    assert stack.get(f"/jobs/{job}")["status"] == "CANCELLED"
