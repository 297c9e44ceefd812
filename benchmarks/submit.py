"""Submission over HTTP: one by one on 1 to 64 connections, and in batches.

Beside one by one stands a function that only inserts a row, behind the same kind of gateway and on
the same PostgreSQL. Jobs are for tomorrow, so that nothing runs meanwhile.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg

from benchmarks import picture
from benchmarks.client import Answered, for_seconds, request
from benchmarks.due import MARK, encoded
from benchmarks.figures import percentile
from benchmarks.report import Row, draw
from benchmarks.running import Running, fresh, until
from benchmarks.sizes import number, numbers
from infra.local.service import HOST, free_port

GOALS = {32: "goal 2,000, or half of the floor"}
BATCH_GOALS = {1_000: "goal 20,000"}
AT_ONCE = 4  # batches: while one is checked, another is written
WARM_UP_SECONDS = 1.0
STOP_SECONDS = 20.0
_ROOT = Path(__file__).resolve().parent.parent


def measure() -> list[Row]:
    seconds = number("BENCH_SUBMIT_SECONDS")
    with fresh("streams") as stack, _floor(stack) as floor:
        for host in (stack.host, floor):
            for_seconds(host, _one(host), 8, WARM_UP_SECONDS)
        rows = [_one_by_one(stack, floor, n, seconds) for n in numbers("BENCH_CONNECTIONS")]
        rows += [
            _in_batches(stack, size, connections, seconds)
            for size in numbers("BENCH_BATCHES")
            for connections in (1, AT_ONCE)
        ]
    _draw(rows)
    return rows


def _one_by_one(stack: Running, floor: str, connections: int, seconds: int) -> Row:
    """In turns, so that a noisy moment hits both."""
    half = seconds / 2
    ours, bare = list[Answered](), list[Answered]()
    for _ in range(2):
        ours.append(for_seconds(stack.host, _one(stack.host), connections, half))
        bare.append(for_seconds(floor, _one(floor), connections, half))
    mine, least = (sum(each.per_second for each in both) / 2 for both in (ours, bare))
    p99 = percentile([seconds for each in ours for seconds in each.took], 0.99)
    goal = "; " + GOALS[connections] if connections in GOALS else ""
    plural = "s" if connections > 1 else ""
    return {
        "name": f"submit one by one, {connections} connection{plural}",
        "unit": "jobs/s",
        "value": mine,
        "floor": least,
        "ratio": mine / least,
        "note": f"p99 {1000 * p99:,.0f} ms{goal}",
    }


def _in_batches(stack: Running, size: int, connections: int, seconds: int) -> Row:
    sent = request(stack.host, "/jobs/batch", encoded([_tomorrow()] * size, {}))
    answered = for_seconds(stack.host, sent, connections, seconds)
    plural = "s" if connections > 1 else ""
    return {
        "name": f"submit in batches of {size:,}, {connections} connection{plural}",
        "unit": "jobs/s",
        "value": size * answered.per_second,
        "note": BATCH_GOALS.get(size, ""),
    }


def _one(host: str) -> bytes:
    job = {"name": "one", "schedule_time": _tomorrow().isoformat(), "target": MARK}
    return request(host, "/jobs", json.dumps(job).encode())


def _tomorrow() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)


@contextmanager
def _floor(stack: Running) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.insert_only", str(port), stack.database_url]
    process = subprocess.Popen(command, cwd=_ROOT)
    host = f"{HOST}:{port}"
    try:
        until(lambda: _answers(host), "the floor answers", STOP_SECONDS)
        yield host
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
        with psycopg.connect(stack.database_url, autocommit=True) as conn:
            conn.execute("DROP TABLE IF EXISTS only_rows")


def _answers(host: str) -> bool:
    try:
        for_seconds(host, _one(host), 1, 0)
    except OSError:
        return False
    return True


def _draw(rows: list[Row]) -> None:
    rates = {"jobs/s": {str(row["name"]).removeprefix("submit "): row["value"] for row in rows}}
    draw("submit", picture.bars("Submission over HTTP", rates, "jobs a second"))
