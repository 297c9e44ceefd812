"""The whole of it, real components included. Two tests, because each costs a dozen processes."""

import http.client
import json
import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.infra.local.upping import PROGRAM, Up, listens, processes_in, running
from tests.infra.local.waiting import wait_until


def _ask(up: Up, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    asked = http.client.HTTPConnection("127.0.0.1", up.ports()["gateway"], timeout=30)
    told = None if body is None else json.dumps(body)
    asked.request(method, path, told, {"content-type": "application/json"})
    answer = asked.getresponse()
    read = json.loads(answer.read())
    asked.close()
    return answer.status, read


def test_a_job_is_there_the_next_time(folder: Path) -> None:
    with running(folder, real=True) as up:
        up.wait_for("Lamplighter is up")
        status, created = _ask(
            up, "POST", "/jobs", {"name": "kept", "cron_expression": "0 0 * * *"}
        )
        assert status == 201
        shown = json.loads(
            subprocess.check_output([PROGRAM, "ps", "--data", str(up.data), "--json"])
        )
        assert {each["name"]: each["pid"] for each in shown["services"]}.keys() == {
            "postgres", "valkey"
        }  # fmt: skip
        for each in shown["components"]:
            os.kill(each["pid"], 0)
        up.process.send_signal(signal.SIGINT)
        assert up.ends() == 0
        assert processes_in(folder) == []

    with running(folder, real=True) as again:
        again.wait_for("Lamplighter is up")
        assert "0 migrations applied" in again.said
        assert _ask(again, "GET", f"/jobs/{created['job_id']}")[1]["name"] == "kept"
        again.process.kill()
        wait_until(lambda: not processes_in(folder), "the end of every process", 60)


@pytest.mark.kafka
def test_kafka_is_one_option_away(folder: Path) -> None:
    with running(folder, "--bus", "kafka", real=True) as up:
        up.wait_for("Lamplighter is up")
        ports = up.ports()
        assert ports.keys() == {"postgres", "valkey", "kafka", "gateway"}
        assert re.search(r"^  topics +ready .* on kafka$", up.said, re.MULTILINE)

        up.process.send_signal(signal.SIGINT)

        assert up.ends() == 0
        order = re.findall(r"^  (\w+) +stopped", up.said, re.MULTILINE)
        assert order[-3:] == ["kafka", "valkey", "postgres"]
        assert not any(map(listens, ports.values()))
