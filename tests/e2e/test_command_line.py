"""One pass with the command line over a running stack."""

import json
import os
import subprocess
from typing import Any

import pytest

from tests.e2e.stack import LAMPLIGHTER, Stack

pytestmark = pytest.mark.usefixtures("checked")


def run(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(LAMPLIGHTER), *arguments, "--data", str(stack.data)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"}
    )


def said(stack: Stack, *arguments: str) -> str:
    done = run(stack, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(stack: Stack, *arguments: str) -> Any:
    return json.loads(said(stack, *arguments, "--json"))


def test_a_job_s_life_from_the_command_line(stack: Stack) -> None:
    waited = said(stack, "submit", "--name", "greet", "--command", "echo hi", "--wait")
    [job] = told(stack, "list", "--name", "greet")["jobs"]
    [its_run] = told(stack, "runs", job["job_id"])["runs"]
    shown = said(stack, "show", job["job_id"])
    log = said(stack, "logs", its_run["run_id"])
    explained = said(stack, "explain", job["job_id"])

    assert "hi" in waited.splitlines()
    assert (its_run["status"], log) == ("SUCCESS", "hi\n")
    assert "greet" in shown
    assert "succeeded at" in explained


def test_a_job_is_cancelled_from_the_command_line(stack: Stack) -> None:
    job = said(stack, "submit", "--name", "far", "--in", "1h").strip()

    said(stack, "cancel", job)

    assert stack.get(f"/jobs/{job}")["status"] == "CANCELLED"


def test_a_run_that_fails_is_an_exit_code_of_one(stack: Stack) -> None:
    done = run(stack, "submit", "--name", "bad", "--command", "exit 4", "--retries", "0", "--wait")

    assert done.returncode == 1


def test_a_schedule_is_previewed(stack: Stack) -> None:
    shown = told(
        stack, "preview", "--cron", "30 2 * * *", "--timezone", "Europe/Berlin",
        "--after", "2026-03-28T00:00Z", "--count", "2",
    )  # fmt: skip

    assert shown["fires"] == ["2026-03-28T01:30:00.000Z", "2026-03-29T01:00:00.000Z"]
    assert "1 wall time missing" in shown["transitions"][0]["sentence"]


def test_ps_names_every_component_and_service(stack: Stack) -> None:
    shown = told(stack, "ps")

    names = {each["name"] for each in shown["components"]}
    services = {each["name"] for each in shown["services"]}
    expected = {"gateway", "watcher-1", "watcher-2", "executor-1", "worker-1", "worker-eu-1"}
    assert names == expected | {"recorder-1", "recorder-2", "resolver"}
    assert services >= {"postgres", "valkey"}
    assert ("kafka" in services) is (stack.bus == "kafka")
    assert all(each["pid"] for each in [*shown["components"], *shown["services"]])
