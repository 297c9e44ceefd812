"""Cron jobs: many at second 0 of each minute, and many more spread over it.

Each minute that is watched whole is looked at: how late they start, and whether every one did. They
are as anybody would submit them: a fire while the one before still runs would be skipped.
"""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from benchmarks import picture
from benchmarks.due import BATCH, MARK, Pace, sleep_until
from benchmarks.figures import Points, Spread, lateness_over_time, spread, spread_rows
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh, until
from benchmarks.sizes import number, numbers, words

GOALS = {1_000: "the last: goal 150 at most"}
GOAL = "goal 2,000 at most"
# What was submitted is planned within 20 s; and the first minute warms up.
PLAN_SECONDS = 45.0
PATIENCE_SECONDS = 60.0


class Minutes(NamedTuple):
    late: Spread
    missed: int
    found: int
    over_time: Points


def measure() -> list[Row]:
    rows: list[Row] = []
    lateness: dict[str, Points] = {}
    kinds = [(jobs, False) for jobs in numbers("BENCH_CRONS")]
    kinds += [(jobs, True) for jobs in numbers("BENCH_SPREAD_CRONS") if jobs]
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"cron over {bus}", reason))
            continue
        for jobs, is_spread in kinds:
            with fresh(bus) as stack:
                Pace(stack)  # warms up
                seen = _watch(stack, jobs, is_spread=is_spread)
            where = "spread over the minute" if is_spread else "at :00"
            rows += _rows(f"{jobs:,} crons {where} over {bus}", seen, GOALS.get(jobs, GOAL))
            lateness[f"{bus} {jobs:,}"] = seen.over_time
    title = "Lateness of cron jobs, worst of each second"
    draw("cron", picture.lines(title, lateness, "seconds", "ms"))
    return rows


def _watch(stack: Running, jobs: int, *, is_spread: bool) -> Minutes:
    _submit(stack, jobs, is_spread=is_spread)
    first = _minute_after(datetime.now(UTC) + timedelta(seconds=PLAN_SECONDS))
    end = first + timedelta(minutes=number("BENCH_MINUTES"))
    sleep_until(end)
    wanted = jobs * number("BENCH_MINUTES")
    since, before = first.timestamp(), end.timestamp()

    def starts() -> dict[bytes, tuple[float, float]]:
        every = [start for start in stack.starts(since) if start.fire < before]
        return {start.run_id: (start.fire - since, start.lateness) for start in every}

    stop = time.monotonic() + PATIENCE_SECONDS
    until(lambda: len(starts()) >= wanted or time.monotonic() > stop, "", 2 * PATIENCE_SECONDS, 2.0)
    seen = starts()
    report = stack.verify(first, end)
    return Minutes(
        late=spread(late for _, late in seen.values()),
        missed=wanted - len(seen),
        found=sum(rule["found"] for rule in report["rules"]),
        over_time=lateness_over_time(seen.values(), 1.0, 1.0),
    )


def _submit(stack: Running, jobs: int, *, is_spread: bool) -> None:
    """At :00 by five fields; spread, by six that name the second."""
    for start in range(0, jobs, BATCH):
        numbered = range(start, min(start + BATCH, jobs))
        body = [
            {"name": f"cron {n}", "target": MARK,
             "cron_expression": f"{n % 60} * * * * *" if is_spread else "* * * * *"}
            for n in numbered
        ]  # fmt: skip
        stack.send("POST", "/jobs/batch", json.dumps({"jobs": body}).encode())


def _minute_after(instant: datetime) -> datetime:
    return instant.replace(second=0, microsecond=0) + timedelta(minutes=1)


def _rows(name: str, seen: Minutes, goal: str) -> list[Row]:
    return [
        *spread_rows(f"{name}, lateness", seen.late, goal),
        {"name": f"{name}, missed", "unit": "fires", "value": seen.missed, "note": "goal 0"},
        {"name": f"{name}, found by verify", "unit": "", "value": seen.found, "note": "goal 0"},
    ]  # fmt: skip
