"""An idle stack, as `lamplighter up` starts it: how soon it, and jobs, start and stop; rest.

Times are noted by the handler itself, on the same machine as the client. Rest is weighed beside
cron jobs that were submitted, then beside more and more jobs that were put into the ledger; memory
when a million jobs have been loaded, because all of them are due within minutes.
"""

import os
import random
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import picture
from benchmarks.cancelling import cancellations
from benchmarks.figures import spread
from benchmarks.fill import fill_waiting
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, filled, fresh, running, until
from benchmarks.sizes import number, numbers

FUTURE = 100
CRONS = 1_000
SETTLE_SECONDS = 15.0
# Filling, starting and loading take less; the stack looks 300 s ahead.
AHEAD = timedelta(seconds=290)
LOOK_SECONDS = 0.02
PATIENCE_SECONDS = 30.0
NOTE = {"type": "python", "handler": "bench.note"}


def measure() -> list[Row]:
    return _measure("streams")


def measure_kafka() -> list[Row]:
    return _measure("kafka")


def _measure(bus: str) -> list[Row]:
    if reason := absent(bus):
        return [not_measured(f"idle over {bus}", reason)]
    rests: dict[str, dict[str, float]] = {}
    with fresh(bus) as stack:
        _starts(stack, 10)  # imports, connections, plans
        soon = _starts(stack, number("BENCH_IMMEDIATE"))
        late = _lateness(stack)
        stopped = cancellations(stack, number("BENCH_CANCELLED"))
        load = f"load {os.getloadavg()[0]:.1f}"
        at_rest = 0
        for jobs in numbers("BENCH_AT_REST"):
            _add(stack, at_rest, jobs)
            at_rest = jobs
            time.sleep(SETTLE_SECONDS)
            rests[f"{jobs:,}"] = _rest(stack)
    rows = [_ready(bus)]
    rows += _times(f"{bus}: 201 to the handler, one job at a time", soon, load)
    rows += _times(f"{bus}: a future job's lateness", late, load)
    rows += _times(f"{bus}: cancel to the end of a running job", stopped, load, goal=1000)
    for there, rest in rests.items():
        rows += _shares(f"{bus}: at rest with {there} scheduled jobs", rest, load)
    draw("idle" if bus == "streams" else f"idle_{bus}",
         picture.bars("CPU at rest", rests, "% of a core"))  # fmt: skip
    return [*rows, *_memory(bus)]


def _ready(bus: str) -> Row:
    """Of a second start over the same data: the first one makes a database."""
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        with running(Path(folder), bus):
            pass
        began = time.monotonic()
        with running(Path(folder), bus):
            seconds = time.monotonic() - began
    return {"name": f"{bus}: ready after", "unit": "s", "value": seconds, "note": "goal 10 at most"}


def _add(stack: Running, there: int, jobs: int) -> None:
    """Cron jobs over HTTP up to a thousand; beyond that, straight into the ledger."""
    if there == 0:
        _submit_crons(stack, min(jobs, CRONS))
        there = min(jobs, CRONS)
    if jobs > there:
        tomorrow = datetime.now(UTC) + timedelta(days=1)
        days = (tomorrow, tomorrow + timedelta(days=5))
        fill_waiting(stack.database_url, jobs - there, days, start=there)


def _memory(bus: str) -> list[Row]:
    """Nothing has run yet: all of them are in Valkey, waiting for their time."""
    jobs = number("BENCH_IN_HORIZON")
    if not jobs:
        return []
    last = datetime.now(UTC) + AHEAD

    def fill(url: str) -> None:
        fill_waiting(url, jobs, (last - timedelta(seconds=20), last), crons=False)

    with filled(bus, fill) as stack, psycopg.connect(stack.database_url, autocommit=True) as conn:

        def is_loaded() -> bool:
            (loaded_to,) = conn.execute("SELECT loaded_to FROM ledger_bounds").fetchone() or (None,)
            return bool(loaded_to and loaded_to >= last)

        until(is_loaded, "all of it is loaded", AHEAD.total_seconds(), look=1.0)
        used = stack.memory()
    if datetime.now(UTC) > last:
        raise RuntimeError("loading took so long that the jobs are due: is the machine busy?")
    name = f"{bus}: memory (PSS) with {jobs:,} jobs in the horizon"
    total: Row = {"name": name, "unit": "MB", "value": sum(used.values()),
                  "note": "goal 900 at most; without Kafka and PostgreSQL's buffers"}  # fmt: skip
    parts = sorted(used.items(), key=lambda part: -part[1])
    return [total, *({"name": f"  {part}", "unit": "MB", "value": size} for part, size in parts)]


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


def _submit_crons(stack: Running, count: int) -> None:
    """Each once a day, and none of them within the next hours."""
    hour = datetime.now(UTC).hour
    jobs = [
        {
            "name": f"cron {n}",
            "schedule_type": "CRON",
            "cron_expression": f"{n % 60} {(hour + random.randint(3, 20)) % 24} * * *",  # noqa: S311
            "target": NOTE,
        }
        for n in range(count)
    ]
    stack.ask("POST", "/jobs/batch", {"jobs": jobs})


def _rest(stack: Running) -> dict[str, float]:
    """Per cent of one core that each part uses, the JVM aside."""
    before, began = stack.cpu_seconds(), time.monotonic()
    time.sleep(number("BENCH_REST_SECONDS"))
    after, passed = stack.cpu_seconds(), time.monotonic() - began
    return {name: 100 * (after[name] - before[name]) / passed for name in after if name != "kafka"}


def _times(name: str, seconds: Sequence[float], load: str, goal: int = 100) -> list[Row]:
    figures = spread(seconds)._asdict()
    notes = {"p50": load, "p99": f"goal {goal:,} at most", "most": f"of {len(seconds)}"}
    return [
        {"name": f"{name}, {which}", "unit": "ms", "value": 1000 * value, "note": notes[which]}
        for which, value in figures.items()
    ]


def _shares(name: str, rest: dict[str, float], load: str) -> list[Row]:
    note = f"goal 3 at most; {load}"
    total: Row = {"name": name, "unit": "% of a core", "value": sum(rest.values()), "note": note}
    parts = sorted(rest.items(), key=lambda part: -part[1])
    return [
        total,
        *({"name": f"  {part}", "unit": "% of a core", "value": share} for part, share in parts),
    ]
