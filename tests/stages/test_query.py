"""Query: pages, statuses, fires and previews."""

from datetime import timedelta
from uuid import UUID

import pytest

from lamplighter.domain.run import Verdict
from tests.functions.world import NOON, World


@pytest.fixture
def world() -> World:
    return World()


def _next(link: str) -> dict[str, str]:
    """The parameters that a Link header leads on with."""
    address = link.removeprefix("<").partition(">")[0]
    return dict(pair.split("=") for pair in address.partition("?")[2].split("&"))


def test_pages_of_jobs_follow_each_other(world: World) -> None:
    made = {world.call.submit(name=f"job {n}") for n in range(7)}
    seen: list[str] = []
    query = {"limit": "3"}
    while query:
        page = world.call("GET", "/jobs", query=query)
        seen += [job["job_id"] for job in page.body["jobs"]]
        query = _next(page.headers["link"]) if "link" in page.headers else {}
    assert (len(seen), set(seen)) == (7, made)
    assert seen == sorted(seen, reverse=True)


def test_jobs_are_found_by_what_they_are(world: World) -> None:
    cron = world.call.submit(name="Nightly report", cron_expression="0 0 * * *", tags=["x", "y"])
    world.call.submit(pool="eu")
    world.call("POST", f"/jobs/{cron}/pause")
    for query in (
        {"status": "PAUSED"},
        {"status": "paused", "tag": "y"},
        {"schedule_type": "CRON"},
        {"name": "REPORT"},
    ):
        found = world.call("GET", "/jobs", query=query).body["jobs"]
        assert [job["job_id"] for job in found] == [cron], query
    assert len(world.call("GET", "/jobs", query={"pool": "eu"}).body["jobs"]) == 1
    assert world.call("GET", "/jobs", query={"tag": "z"}).body["jobs"] == []


@pytest.mark.parametrize("name", ["two\u00a0words", "👩\u200d💻 deploys", "a\u3000b"])
def test_whatever_a_job_may_be_called_finds_it(world: World, name: str) -> None:
    job_id = world.call.submit(name=name, tags=[name])
    for query in ({"name": name}, {"tag": name}):
        [found] = world.call("GET", "/jobs", query=query).body["jobs"]
        assert found["job_id"] == job_id


def test_a_list_of_jobs_carries_no_payloads(world: World) -> None:
    world.call.submit(payload="large")
    [job] = world.call("GET", "/jobs").body["jobs"]
    assert "payload" not in job


def test_runs_are_found_by_status_job_and_time(world: World) -> None:
    first = world.call.submit()
    later = world.call.submit(schedule_time="2030-01-01T13:00:00Z")

    def found(**query: str) -> list[str]:
        runs = world.call("GET", "/runs", query=query).body["runs"]
        return [run["job_id"] for run in runs]

    assert found() == [first]
    assert found(planned="true") == [later, first]
    assert found(status="QUEUED") == [first]
    assert found(status="SCHEDULED") == [later]
    assert found(status="SUCCESS") == []
    assert found(job_id=later, planned="true") == [later]
    assert found(since="2030-01-01T12:30:00Z") == [later]
    assert found(until="2030-01-01T12:30:00Z") == [first]
    assert found(pool="eu") == []


def test_the_runs_of_a_job_come_in_pages(world: World) -> None:
    job_id = world.call.submit(interval_seconds=60)
    for _ in range(4):
        world.wind(seconds=1)
        world.call("POST", f"/jobs/{job_id}/runNow")
    path = f"/jobs/{job_id}/runs"

    first = world.call("GET", path, query={"limit": "3"})
    rest = world.call("GET", path, query=_next(first.headers["link"]))

    assert (len(first.body), len(rest.body)) == (3, 2)
    assert "link" not in rest.headers


def test_a_run_is_shown_whole_with_its_attempts(world: World) -> None:
    world.call.submit(backoff={"jitter": False})
    [due] = world.hinted
    world.finish(due.run_id, world.claim(due.run_id), Verdict.FAILED, "boom")

    run = world.call("GET", f"/runs/{due.run_id}").body

    assert run["status"] == "RETRYING"
    assert run["wake_at"] == "2030-01-01T12:00:01.000Z"
    [attempt] = run["attempts"]
    assert attempt["error_message"] == "boom"
    assert world.call("GET", "/runs/6f1e2a7c-0000-4000-8000-000000000000").status == 404


def test_the_latest_run_is_the_one_whose_time_came_last(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 * * * *")
    status = world.call("GET", f"/jobs/{job_id}/status").body["latest_run"]
    assert (status["status"], status["fire_at"]) == ("QUEUED", "2030-01-01T12:00:00.000Z")
    world.wind(minutes=10)
    run_now = world.call("POST", f"/jobs/{job_id}/runNow").body["run_ids"]
    latest = world.call("GET", f"/jobs/{job_id}/status").body["latest_run"]
    assert [latest["run_id"]] == run_now


def test_the_coming_fires_of_a_job(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 9 * * *", timezone="Europe/Berlin")
    fires = world.call("GET", f"/jobs/{job_id}/fires", query={"count": "2"}).body
    assert fires["fires"] == ["2030-01-02T08:00:00.000Z", "2030-01-03T08:00:00.000Z"]
    many = world.call("GET", f"/jobs/{job_id}/fires", query={"count": "100"}).body
    assert [each["affected"] for each in many["transitions"]] == [0]


def test_the_coming_fires_of_a_dependent_are_those_of_its_upstreams(world: World) -> None:
    first = world.call.submit(cron_expression="0 9 * * *")
    second = world.call.submit(after=[first])
    third = world.call.submit(after=[second, first])
    fires = world.call("GET", f"/jobs/{third}/fires", query={"count": "2"}).body["fires"]
    assert fires == ["2030-01-02T09:00:00.000Z", "2030-01-03T09:00:00.000Z"]


def test_a_cancelled_job_has_no_fires_to_come(world: World) -> None:
    job_id = world.call.submit(cron_expression="0 9 * * *")
    world.call("DELETE", f"/jobs/{job_id}")
    assert world.call("GET", f"/jobs/{job_id}/fires").body["fires"] == []


def test_a_preview_over_a_change_of_the_clock(world: World) -> None:
    body = {
        "schedule_type": "CRON",
        "cron_expression": "30 2 * * *",
        "timezone": "Europe/Berlin",
        "after": "2026-03-28T00:00:00Z",
        "count": 3,
    }
    answer = world.call("POST", "/schedules/preview", body).body
    assert answer["fires"] == [
        "2026-03-28T01:30:00.000Z",
        "2026-03-29T01:00:00.000Z",
        "2026-03-30T00:30:00.000Z",
    ]
    [change] = answer["transitions"]
    assert change["at"] == "2026-03-29T01:00:00.000Z"
    assert "1 wall time missing" in change["sentence"]


def test_a_preview_of_what_starts_when_it_is_submitted(world: World) -> None:
    every = world.call("POST", "/schedules/preview", {"interval_seconds": 60, "count": 2}).body
    assert every["fires"] == ["2030-01-01T12:00:00.000Z", "2030-01-01T12:01:00.000Z"]
    assert world.call("POST", "/schedules/preview", {}).body["fires"] == every["fires"][:1]


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ({"cron_expression": "0 0 * * *", "until": "2030-01-02T00:00:00Z"}, ["2030-01-02"]),
        ({"schedule_time": "2030-01-05T00:00:00Z"}, ["2030-01-05"]),
        ({"cron_expression": "0 0 13 * FRI", "day_match": "and", "count": 1}, ["2030-09-13"]),
        ({"cron_expression": "0 0 * * *", "end_at": "2030-01-03T00:00:00Z"},
         ["2030-01-02", "2030-01-03"]),
        ({"cron_expression": "0 0 * * *", "after": "2030-01-02T00:00:00Z", "count": 1},
         ["2030-01-03"]),
    ],
)  # fmt: skip
def test_a_preview_of_other_schedules(
    world: World, body: dict[str, object], fires: list[str]
) -> None:
    answer = world.call("POST", "/schedules/preview", body)
    assert [fire[:10] for fire in answer.body["fires"]] == fires


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"schedule_type": "AFTER"}, "schedule_type"),
        ({"count": 1001}, "count"),
        ({"cron_expression": "nonsense"}, "cron_expression"),
        ({"cron_expression": "0 0 * * *", "after": "2030-01-01T00:00:00"}, "after"),
        ({"cron_expression": "0 0 * * *", "after": "0001-01-01T00:00:00+14:00"}, "after"),
        ({"cron_expression": "0 0 * * *", "after": "9999-01-01T00:00:00Z"}, "after"),
        ({"name": "x"}, "name"),
    ],
)
def test_a_bad_preview_is_refused(world: World, body: dict[str, object], field: str) -> None:
    refused = world.call("POST", "/schedules/preview", body)
    assert (refused.status, refused.error["field"]) == (422, field)


def test_workers_are_listed_alive_or_silent(world: World) -> None:
    world.ledger.heartbeat("executor-1", "default", 10)
    world.wind(seconds=20)
    world.ledger.heartbeat("executor-2", "default", 10)
    workers = world.call("GET", "/workers").body["workers"]
    assert [(each["worker_id"], each["status"]) for each in workers] == [
        ("executor-1", "SILENT"),
        ("executor-2", "ALIVE"),
    ]
    page = world.call("GET", "/workers", query={"limit": "1"}).body
    assert page["next_cursor"] == "executor-1"


def test_metrics_are_prometheus_text(world: World) -> None:
    world.ledger.heartbeat("executor-1", "default", 10)
    answer = world.call("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'lamplighter_workers{pool="default"} 1\n' in answer.body


def test_a_metric_of_many_is_not_rounded(world: World) -> None:
    world.ledger.heartbeat("executor-1", "default", 1_234_567)
    told = 'lamplighter_worker_capacity{pool="default"} 1234567\n'
    assert told in world.call("GET", "/metrics").body


def test_the_explanation_follows_the_job(world: World) -> None:
    up = world.call.submit(name="up", schedule_time=(NOON + timedelta(hours=1)).isoformat())
    down = world.call.submit(name="down", after=[up])

    def told(job_id: str) -> str:
        sentence: str = world.call("GET", f"/jobs/{job_id}/explain").body["explanation"]
        return sentence

    assert "has not run yet, because it is due at 2030-01-01T13:00:00.000Z" in told(up)
    assert "waits for its upstreams: 'up' (SCHEDULED)" in told(down)
    world.wind(hours=1, seconds=10)
    assert "10 s ago, and no worker of pool 'default' was heard of in the last 15 s" in told(up)
    run = world.ledger.runs("default", UUID(up))[0]
    world.finish(run.run_id, world.claim(run.run_id))
    assert "succeeded at 2030-01-01T13:00:10.000Z, 10 s late" in told(up)
    assert told(up).endswith("; it has no fire left, so it will not run again by itself.")
    by_run = world.call("GET", f"/runs/{run.run_id}/explain").body["explanation"]
    assert by_run.startswith("Job 'up' succeeded")
