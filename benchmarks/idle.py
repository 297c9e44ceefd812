"""An idle stack, as `lamplighter up` starts it: how soon a job starts, and what rest costs.

Times are noted by the handler itself, on the same machine as the client.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from benchmarks.running import Running, running

IMMEDIATE = 300
FUTURE = 100
CRONS = 1_000
REST_SECONDS = 30.0
SETTLE_SECONDS = 15.0
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 30.0
NOTE = {"type": "python", "handler": "bench.note"}


def measure() -> list[Row]:
    return _measure("streams")


def measure_kafka() -> list[Row]:
    return _measure("kafka")


def _measure(bus: str) -> list[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="lamplighter-") as folder,
        running(Path(folder), bus) as stack,
    ):
        _starts(stack, 10)  # imports, connections, plans
        soon = _starts(stack, IMMEDIATE)
        late = _lateness(stack)
        _submit_crons(stack)
        time.sleep(SETTLE_SECONDS)
        rest = _rest(stack)
    load = f"load {os.getloadavg()[0]:.1f}"
    rows = _times(f"{bus}: 201 to the handler, one job at a time", soon, load)
    rows += _times(f"{bus}: a future job's lateness", late, load)
    return [*rows, *_shares(bus, rest, load)]


def _starts(stack: Running, count: int) -> list[float]:
    """Seconds from the 201 to the handler. One that begins before the 201 arrives counts as 0."""
    seconds: list[float] = []
    for _ in range(count):
        made = stack.ask("POST", "/jobs", {"name": "now", "target": NOTE})
        answered = time.time()
        seconds.append(max(0.0, _noted(stack, made["job_id"]) - answered))
    return seconds


def _lateness(stack: Running) -> list[float]:
    first = datetime.now(UTC) + timedelta(seconds=5)
    times = [first + timedelta(milliseconds=173 * n) for n in range(FUTURE)]
    jobs = [{"name": "later", "schedule_time": at.isoformat(), "target": NOTE} for at in times]
    made = stack.ask("POST", "/jobs/batch", {"jobs": jobs})["job_ids"]
    time.sleep(max(0.0, (times[-1] - datetime.now(UTC)).total_seconds()))
    # A fire is a whole millisecond.
    dues = [int(at.timestamp() * 1000) / 1000 for at in times]
    return [_noted(stack, job) - due for job, due in zip(made, dues, strict=True)]


def _noted(stack: Running, job_id: str) -> float:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        runs: list[dict[str, Any]] = stack.ask("GET", f"/jobs/{job_id}/runs")
        if runs and runs[0]["status"] == "SUCCESS":
            run: dict[str, Any] = stack.ask("GET", f"/runs/{runs[0]['run_id']}")
            return float(run["result"])
        time.sleep(LOOK_SECONDS)
    raise RuntimeError(f"job {job_id} has not ended")


def _submit_crons(stack: Running) -> None:
    """Each once a day, and none of them within the next hours."""
    hour = datetime.now(UTC).hour
    jobs = [
        {
            "name": f"cron {n}",
            "schedule_type": "CRON",
            "cron_expression": f"{n % 60} {(hour + random.randint(3, 20)) % 24} * * *",  # noqa: S311
            "target": NOTE,
        }
        for n in range(CRONS)
    ]
    stack.ask("POST", "/jobs/batch", {"jobs": jobs})


def _rest(stack: Running) -> dict[str, float]:
    """Per cent of one core that each part uses, the JVM aside."""
    before, began = stack.cpu_seconds(), time.monotonic()
    time.sleep(REST_SECONDS)
    after, passed = stack.cpu_seconds(), time.monotonic() - began
    return {name: 100 * (after[name] - before[name]) / passed for name in after if name != "kafka"}


def _times(name: str, seconds: Sequence[float], load: str) -> list[Row]:
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    figures = {"p50": cuts[49], "p99": cuts[98], "most": max(seconds)}
    notes = {"p50": load, "p99": "goal 100 at most", "most": f"of {len(seconds)}"}
    return [
        {"name": f"{name}, {which}", "unit": "ms", "value": 1000 * value, "note": notes[which]}
        for which, value in figures.items()
    ]


def _shares(bus: str, rest: dict[str, float], load: str) -> list[Row]:
    name = f"{bus}: at rest with {CRONS:,} cron jobs"
    note = f"goal 3 at most; {load}"
    total: Row = {"name": name, "unit": "% of a core", "value": sum(rest.values()), "note": note}
    parts = sorted(rest.items(), key=lambda part: -part[1])
    return [
        total,
        *({"name": f"  {part}", "unit": "% of a core", "value": share} for part, share in parts),
    ]
