"""`list`, `show`, `runs`, `explain`: tables for people, the API's own words for programs."""

import json
import time
from collections.abc import Iterator
from uuid import UUID

import pytest

from lamplighter.domain.run import Verdict
from tests.cli.conftest import Cli
from tests.cli.serving import Served


def _submit(world: Served, count: int) -> None:
    for number in range(count):
        world.call.submit(name=f"job {number}")
        world.wind(seconds=1)


def _finished_run(
    world: Served, verdict: Verdict = Verdict.SUCCESS, error: str | None = None
) -> UUID:
    run_id = world.hinted[-1].run_id
    fence = world.claim(run_id)
    world.wind(seconds=1.5)
    world.finish(run_id, fence, verdict, error)
    return run_id


def test_a_list_says_what_each_job_is_and_when_it_fires(cli: Cli, world: Served) -> None:
    world.call.submit(name="nightly", cron_expression="0 2 * * *", timezone="Europe/Berlin")
    world.wind(seconds=1)
    world.call.submit(name="tick", interval_seconds=30)
    world.wind(seconds=1)
    world.call.submit(name="now")

    head, now, tick, nightly = cli("list").stdout.splitlines()

    assert head.split() == ["JOB", "NAME", "STATUS", "SCHEDULE", "CLASS", "POOL", "CREATED"]
    assert "nightly  SCHEDULED  cron 0 2 * * * Europe/Berlin  P2/5   default" in nightly
    assert "every 30 s" in tick
    assert "at once" in now


def test_a_list_is_filtered_as_the_api_does_it(cli: Cli, world: Served) -> None:
    world.call.submit(name="red", tags=["colour"])
    world.call.submit(name="loud")

    assert "loud" not in cli("list", "--tag", "colour").stdout
    assert "red" not in cli("list", "--name", "LOU").stdout
    assert "There are no such jobs." in cli("list", "--status", "PAUSED").stderr
    assert "choose one of" in cli("list", "--status", "ODD", exits=1).stderr


def test_one_page_is_shown_and_the_way_to_the_others(cli: Cli, world: Served) -> None:
    _submit(world, 5)

    first = cli("list", "--limit", "2")
    everything = cli("list", "--limit", "2", "--all")
    cursor = first.stderr.split()[-1]
    second = cli("list", "--limit", "2", "--cursor", cursor)

    assert len(first.stdout.splitlines()) == 3
    assert "There are more: --all, or --cursor" in first.stderr
    assert len(everything.stdout.splitlines()) == 6
    assert "job 2" in second.stdout


def test_programs_get_every_page_as_one_document(cli: Cli, world: Served) -> None:
    _submit(world, 3)

    page = json.loads(cli("list", "--limit", "1", "--all", "--json").stdout)

    assert [job["name"] for job in page["jobs"]] == ["job 2", "job 1", "job 0"]


def test_runs_say_how_long_they_took_and_why_they_failed(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(name="breaks", max_retries=0)
    run_id = _finished_run(world, Verdict.FAILED, "exit code 7\nand more")

    head, row = cli("runs", job_id, "--utc").stdout.splitlines()

    assert head.split() == ["RUN", "JOB", "STATUS", "FIRE", "STARTED", "TOOK", "TRY", "WHY"]
    assert row.split()[:3] == [str(run_id), job_id, "FAILED"]
    assert row.endswith("1.500 s  1    exit code 7")
    assert "2030-01-01T12:00:00.000Z" in row


def test_runs_are_filtered_by_time_and_status(cli: Cli, world: Served) -> None:
    world.call.submit(name="later", schedule_time="2030-01-01T13:00:00Z")

    assert "SCHEDULED" in cli("runs", "--since", "2030-01-01T12:30Z").stdout
    assert "no such runs" in cli("runs", "--until", "2030-01-01T12:30Z").stderr
    assert "no such runs" in cli("runs", "--status", "QUEUED").stderr


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock shows Berlin's time."""
    with monkeypatch.context() as moved:
        moved.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_times_are_those_of_this_machine_with_their_offset(cli: Cli, world: Served) -> None:
    world.call.submit(name="later", schedule_time="2030-01-01T13:00:00Z")

    assert "at 2030-01-01 14:00:00+01:00" in cli("list").stdout
    assert "at 2030-01-01T13:00:00.000Z" in cli("list", "--utc").stdout


def test_a_job_is_shown_with_its_latest_run(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(name="hello", payload={"a": 1}, max_retries=0)
    run_id = _finished_run(world)

    shown = cli("show", job_id).stdout
    both = json.loads(cli("show", job_id, "--json").stdout)

    assert '{"a": 1}' in shown
    assert "5 (P2)" in shown
    assert str(run_id) in shown
    assert (both["name"], both["latest_run"]["run_id"]) == ("hello", str(run_id))


def test_a_run_is_shown_by_its_own_id(cli: Cli, world: Served) -> None:
    world.call.submit(name="hello", max_retries=0)
    run_id = _finished_run(world)

    lines = [line.split() for line in cli("show", str(run_id)).stdout.splitlines()]
    assert ["took", "1.500", "s"] in lines
    assert json.loads(cli("show", str(run_id), "--json").stdout)["status"] == "SUCCESS"


def test_explain_says_its_sentence_of_a_job_and_of_a_run(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(name="hello", max_retries=0)
    run_id = _finished_run(world)

    of_job, of_run = cli("explain", job_id).stdout, cli("explain", str(run_id)).stdout

    assert of_job.count("\n") == of_run.count("\n") == 1
    assert json.loads(cli("explain", str(run_id), "--json").stdout)["run_id"] == str(run_id)


def test_an_id_of_nothing_is_said_so(cli: Cli) -> None:
    nothing = "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"
    for command in ("show", "explain", "cancel", "logs"):
        assert f"There is no job and no run {nothing}." in cli(command, nothing, exits=1).stderr


def test_runs_of_nobody_are_not_just_none(cli: Cli, world: Served) -> None:
    nothing = "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"
    later = world.call.submit(name="later", schedule_time="2030-01-01T13:00:00Z")

    for more in ([], ["--json"], ["--all"]):
        refused = cli("runs", nothing, *more, exits=1)
        assert f"there is no job {nothing}" in refused.stderr
        assert refused.stdout == ""
    assert "There are no such runs." in cli("runs", later).stderr


def test_runs_of_a_backfill_are_found_by_its_id(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(
        name="hourly", interval_seconds=3600, start_at="2029-12-31T00:00:00Z"
    )
    body = {"start": "2029-12-31T00:00:00Z", "end": "2029-12-31T03:00:00Z"}
    made = world.call("POST", f"/jobs/{job_id}/backfill", body).body

    for origin in (f"backfill:{made['backfill_id']}", f"backfill:{made['backfill_id']}:at_once=10"):
        found = json.loads(cli("runs", "--origin", origin, "--json").stdout)["runs"]
        assert {run["run_id"] for run in found} == set(made["run_ids"])
    part = f"backfill:{made['backfill_id'][:-1]}"
    assert "no such runs" in cli("runs", "--origin", part).stderr


def test_an_id_leads_nowhere_else(cli: Cli, world: Served) -> None:
    assert "is no id" in cli("show", "../workers?x=", exits=2).stderr
    assert world.requests == []


def test_what_a_job_says_moves_no_cursor(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(name="\u202edesrever", payload="\x1b[2J\x9b", max_retries=0)
    _finished_run(world, Verdict.FAILED, "\x1b]0;title\x07")

    for words in (["list"], ["show", job_id], ["runs"], ["explain", job_id]):
        for more in ([], ["--json"]):
            shown = cli(*words, *more).output
            assert all(c.isprintable() or c == "\n" for c in shown), words
    assert "\\x1b[2J\\x9b" in cli("show", job_id).output
