"""`submit`: what people type becomes the job that they mean."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from lamplighter.cli.waiting import Pace
from lamplighter.domain.run import Outcome, Verdict
from tests.cli.conftest import Cli
from tests.cli.serving import AWAY, SILENCE, Served


def _job(world: Served, job_id: str) -> dict[str, Any]:
    job: dict[str, Any] = world.call("GET", f"/jobs/{job_id.strip()}").body
    return job


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        (["--command", "echo hi"], {"target": {"type": "command", "command": "echo hi"}}),
        (["--python", "builtin.echo"], {"target": {"type": "python", "handler": "builtin.echo"}}),
        (
            ["--target", '{"type": "http", "url": "http://h"}'],
            {"target": {"type": "http", "url": "http://h"}},
        ),
        (["--payload", '{"a": [1]}'], {"payload": {"a": [1]}}),
        (["--payload", "0"], {"payload": 0}),
        (["--in", "1h30m"], {"schedule_time": "2030-01-01T13:30:00.000Z"}),
        (["--at", "2030-02-01T09:00+01:00"], {"schedule_time": "2030-02-01T08:00:00.000Z"}),
        (
            ["--at", "2030-07-01 09:00", "--timezone", "Europe/Berlin"],
            {"schedule_time": "2030-07-01T07:00:00.000Z", "timezone": "Europe/Berlin"},
        ),
        (["--cron", "0 2 * * *", "--type", "cron"], {"cron_expression": "0 2 * * *"}),
        (["--every", "90"], {"interval_seconds": 90.0, "schedule_type": "INTERVAL"}),
        (["--every", "1500ms", "--start-at", "2030-01-02T00:00Z"], {"schedule_type": "INTERVAL"}),
        (
            ["--cron", "0 2 * * *", "--dst-gap", "skip"],
            {"dst": {"gap": "skip", "overlap": "first"}},
        ),
        (
            ["--cron", "0 2 * * *", "--catch-up", "all", "--catch-up-window", "1d"],
            {"catch_up": {"policy": "all", "window_seconds": 86_400, "limit": 100}},
        ),
        (["--retries", "0", "--priority", "1"], {"max_retries": 0, "class": "P1"}),
        (
            ["--timeout", "2m", "--tag", "a", "--tag", "b"],
            {"timeout_seconds": 120, "tags": ["a", "b"]},
        ),
        (["--critical", "--pool", "tasks"], {"critical": True, "pool": "tasks"}),
        (["--fan-out", "default", "--fan-out", "tasks"], {"fan_out": ["default", "tasks"]}),
        (["--metadata", '{"team": "ops"}'], {"metadata": {"team": "ops"}}),
    ],
)
def test_a_flag_sets_its_field(
    cli: Cli, world: Served, flags: list[str], fields: dict[str, Any]
) -> None:
    job = _job(world, cli("submit", "--name", "hello", *flags).stdout)

    assert {name: job.get(name) for name in fields} == fields


def test_an_upstream_is_named_by_its_id(cli: Cli, world: Served) -> None:
    first = cli("submit", "--name", "first", "--cron", "0 2 * * *").stdout.strip()

    second = _job(world, cli("submit", "--name", "second", "--after", first).stdout)

    assert [edge["job_id"] for edge in second["after"]] == [first]


def test_a_body_comes_from_a_file_and_flags_go_over_it(
    cli: Cli, world: Served, tmp_path: Path
) -> None:
    file = tmp_path / "job.json"
    file.write_text('{"name": "from the file", "priority": 9}', encoding="utf-8")

    job = _job(world, cli("submit", "--file", str(file), "--priority", "2").stdout)

    assert (job["name"], job["priority"]) == ("from the file", 2)


def test_a_body_comes_from_standard_input(cli: Cli, world: Served) -> None:
    done = cli("submit", "--file", "-", "--json", input='{"name": "piped"}')

    assert _job(world, json.loads(done.stdout)["job_id"])["name"] == "piped"


def test_a_file_may_hold_a_batch_or_a_workflow(cli: Cli, tmp_path: Path) -> None:
    batch, workflow = tmp_path / "batch.json", tmp_path / "workflow.json"
    batch.write_text('[{"name": "a"}, {"name": "b"}]', encoding="utf-8")
    workflow.write_text(
        '{"jobs": [{"name": "c"}, {"name": "d", "after": ["c"]}]}', encoding="utf-8"
    )

    assert len(cli("submit", "--file", str(batch)).stdout.split()) == 2
    assert len(cli("submit", "--file", str(workflow)).stdout.split()) == 2
    refused = cli("submit", "--file", str(batch), "--priority", "1", exits=2)
    assert "the file holds several" in refused.stderr


def test_items_become_one_job_each(cli: Cli) -> None:
    ids = cli("submit", "--name", "video", "--items", '[{"p": 480}, {"p": 720}]').stdout.split()
    assert len(set(ids)) == 2


def test_the_same_key_makes_no_second_job(cli: Cli) -> None:
    words = ["submit", "--name", "once", "--key", "order-1"]
    assert cli(*words).stdout == cli(*words).stdout


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--every", "soon"], "is no duration; write 90s"),
        (["--at", "teatime"], "is no time; write 2030-01-31T09:30"),
        (["--in", "9999999999d"], "no calendar goes that far"),
        (["--every", "9" * 500], "is no duration"),
        (["--at", "0001-01-01"], "too far away"),
        (["--key", "☃"], "is no key"),
        (["--key", "a\nb"], "is no key"),
        (["--payload", "{"], "not JSON"),
        (["--payload", "@/no/such/file"], "cannot read /no/such/file"),
        (["--file", "/no/such/file"], "cannot read /no/such/file"),
        (["--command", "ls", "--python", "builtin.echo"], "Give one of --command"),
        (["--at", "2030-02-01", "--in", "5m"], "Give one of --at or --in"),
        (["--at", "2030-02-01", "--timezone", "Mars/Base"], "no time zone 'Mars/Base'"),
        (["--overlap", "maybe"], "'maybe' is not one of"),
    ],
)
def test_what_makes_no_sense_is_refused_before_it_is_sent(
    cli: Cli, world: Served, flags: list[str], said: str
) -> None:
    refused = cli("submit", "--name", "x", *flags, exits=2)

    assert said in refused.stderr
    assert world.requests == []


def _end(world: Served, verdict: Verdict, **told: Any) -> None:
    """What a worker would do: claim the run that waits, and report."""
    run_id = world.hinted[-1].run_id
    fence = world.claim(run_id)
    world.ledger.finish([Outcome(run_id=run_id, fence=fence, verdict=verdict, **told)])


def test_wait_follows_a_job_to_its_success_and_prints_what_it_printed(
    cli: Cli, world: Served
) -> None:
    world.script = [
        lambda: None,
        lambda: None,
        lambda: _end(world, Verdict.SUCCESS, stdout="hi\n", stderr="careful\n"),
    ]

    done = cli("submit", "--name", "hello", "--command", "echo hi", "--wait")

    assert done.stdout == "hi\n"
    assert "careful\n" in done.stderr
    assert "ended as SUCCESS" in done.stderr


@pytest.mark.parametrize("gone", [SILENCE, AWAY], ids=["gateway", "ledger"])
def test_wait_outlives_a_restart_of_the_gateway_and_of_the_ledger(
    cli: Cli, world: Served, gone: object
) -> None:
    world.script = [
        lambda: gone,
        lambda: None,
        lambda: gone,
        lambda: _end(world, Verdict.SUCCESS, stdout="hi\n"),
        lambda: gone,
    ]

    assert cli("submit", "--name", "hello", "--wait").stdout == "hi\n"


def test_wait_fails_when_the_job_fails(cli: Cli, world: Served) -> None:
    world.script = [lambda: _end(world, Verdict.FAILED, error="exit code 7", retryable=False)]

    done = cli("submit", "--name", "hello", "--wait", exits=1)

    assert "ended as FAILED: exit code 7" in done.stderr


def test_wait_gives_programs_the_whole_run(cli: Cli, world: Served) -> None:
    world.script = [lambda: _end(world, Verdict.SUCCESS, result={"sum": 3})]

    [run] = json.loads(cli("submit", "--name", "hello", "--wait", "--json").stdout)

    assert (run["status"], run["result"]) == ("SUCCESS", {"sum": 3})


def test_wait_ends_when_the_job_is_cancelled_before_its_first_run(cli: Cli, world: Served) -> None:
    def cancel() -> None:
        [job] = world.call("GET", "/jobs").body["jobs"]
        world.ledger.cancel_job("default", UUID(job["job_id"]))

    world.script = [cancel]

    done = cli("submit", "--name", "far", "--at", "2031-01-01", "--wait", exits=1)

    assert "nothing to wait for" in done.stderr
    assert "cancelled" in done.stderr


def test_ctrl_c_says_that_the_job_goes_on(
    cli: Cli, world: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: Pace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Pace, "rest", interrupt)

    told = cli("submit", "--name", "long", "--wait", exits=1).stderr

    [job] = world.call("GET", "/jobs").body["jobs"]
    assert job["status"] == "SCHEDULED"
    assert f"The job goes on. To look: lamplighter show {job['job_id']}" in told
