"""The leader is killed (kill -9) under load: the longest time in which nothing started.

Between two killings the stack has time to start another watcher, so that one stands by again.
"""

import os
import signal
from datetime import datetime, timedelta
from typing import NamedTuple

import psycopg

from benchmarks import picture
from benchmarks.due import Pace, Wave, sleep_until
from benchmarks.figures import Gap, Points, longest_gap, rate_over_time
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh
from benchmarks.sizes import number, words

SECONDS = 20
KILLED_AFTER = 8.0
PATIENCE_SECONDS = 120.0
GOAL = "goal 2,000 at most"


class Failover(NamedTuple):
    usual: Gap
    gap: Gap
    found: int
    over_time: Points


def measure() -> list[Row]:
    rows: list[Row] = []
    flow: dict[str, Points] = {}
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"failover over {bus}", reason))
            continue
        with fresh(bus) as stack:
            pace = Pace(stack)
            every = [_kill_one(stack, pace) for _ in range(number("BENCH_FAILOVERS"))]
        rows += _rows(f"leader killed over {bus}", every)
        flow[bus] = max(every, key=lambda each: each.gap.seconds).over_time
    title = f"Starts while the leader is killed, at {KILLED_AFTER:g} s"
    draw("failover", picture.lines(title, flow, "seconds", "jobs/s"))
    return rows


def _kill_one(stack: Running, pace: Pace) -> Failover:
    rate = number("BENCH_FAILOVER_RATE")
    jobs = rate * SECONDS
    first = pace.instant(jobs)
    wave = Wave(stack, [first + timedelta(seconds=n / rate) for n in range(jobs)])
    sleep_until(first + timedelta(seconds=KILLED_AFTER))
    os.kill(_leader(stack), signal.SIGKILL)
    killed = datetime.now(first.tzinfo).timestamp()
    wave.completed(PATIENCE_SECONDS)
    times = [start.at for start in wave.starts()]
    return Failover(
        usual=longest_gap(at for at in times if at < killed),
        gap=longest_gap(at for at in times if at >= killed - 1),
        found=sum(rule["found"] for rule in wave.verified()["rules"]),
        over_time=rate_over_time(times, first.timestamp(), 0.25),
    )


def _leader(stack: Running) -> int:
    """The lease names its holder: machine-process-number; a machine's name may have dashes."""
    with psycopg.connect(stack.database_url, autocommit=True) as conn:
        row = conn.execute("SELECT holder FROM leases WHERE expires_at > now()").fetchone()
    if row is None:
        raise RuntimeError("nobody leads")
    pid = int(str(row[0]).rsplit("-", 2)[1])
    watchers = {part["pid"] for part in stack.state()["components"] if "watcher" in part["name"]}
    if pid not in watchers:
        raise RuntimeError(f"the leader {row[0]} is none of the watchers {watchers}")
    return pid


def _rows(name: str, every: list[Failover]) -> list[Row]:
    longest = max(each.gap.seconds for each in every)
    usual = max(each.usual.seconds for each in every)
    found = sum(each.found for each in every)
    return [
        {"name": f"{name}, longest gap in starts", "unit": "ms", "value": 1000 * longest,
         "floor": 1000 * usual, "note": f"{GOAL}; of {len(every)}; beside it, before that"},
        {"name": f"{name}, found by verify", "unit": "", "value": found, "note": "goal 0"},
    ]  # fmt: skip
