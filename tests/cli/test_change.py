"""`cancel`, `pause`, `resume`, `run-now`."""

import json

from tests.cli.conftest import Cli
from tests.cli.serving import Served


def test_a_job_is_paused_and_resumed(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(cron_expression="0 2 * * *")

    assert cli("pause", job_id).stdout == f"Job {job_id} is PAUSED.\n"
    assert json.loads(cli("resume", job_id, "--json").stdout)["status"] == "SCHEDULED"


def test_a_job_is_cancelled_whole(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(cron_expression="0 2 * * *")

    assert cli("cancel", job_id).stdout == f"Job {job_id} is CANCELLED.\n"
    assert world.call("GET", f"/jobs/{job_id}").body["status"] == "CANCELLED"
    assert "has ended; submit a new one" in cli("pause", job_id, exits=1).stderr


def test_one_run_is_cancelled_and_the_job_stays(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(interval_seconds=60)
    [run_id] = cli("run-now", job_id).stdout.split()

    assert cli("cancel", run_id).stdout == f"Run {run_id} is CANCELLED.\n"
    assert json.loads(cli("cancel", run_id, "--json").stdout)["run_id"] == run_id
    assert world.call("GET", f"/jobs/{job_id}").body["status"] == "SCHEDULED"


def test_the_same_key_makes_no_second_run(cli: Cli, world: Served) -> None:
    job_id = world.call.submit(cron_expression="0 2 * * *")

    first, second = (cli("run-now", job_id, "--key", "deploy-1").stdout for _ in range(2))

    assert first == second
    assert cli("run-now", job_id, "--json").stdout != first


def test_a_job_is_run_with_those_that_follow_it(cli: Cli, world: Served) -> None:
    up = world.call.submit(cron_expression="0 2 * * *")
    down = world.call.submit(after=[up])

    cli("run-now", up, "--key", "alone")
    [run_id] = cli("run-now", up, "--cascade", "--key", "all").stdout.split()

    assert world.call("GET", f"/runs/{run_id}").body["origin"] == "now:all"
    origins = {run["origin"] for run in world.call("GET", f"/jobs/{down}/runs").body}
    assert origins == {"now:all"}
