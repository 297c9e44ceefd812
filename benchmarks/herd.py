"""Herds: many jobs due at one instant, from that instant to the last completion in the ledger.

Beside each stands the bare data path, measured just before on the same machine. Lateness is taken
inside the handler; that nothing was lost, doubled or early is checked by `lamplighter verify`.
"""

from datetime import timedelta
from typing import NamedTuple

from benchmarks import limit, picture
from benchmarks.due import Pace, Wave, sleep_until
from benchmarks.figures import (
    Points,
    Spread,
    cpu_per_thousand,
    cpu_rows,
    rate_over_time,
    spread,
    spread_rows,
)
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh
from benchmarks.sizes import numbers, words

GOAL = "goal 10,000, and half of the bare path"
PATIENCE_SECONDS = 300.0
MOST_BARE = 100_000  # beyond it, the bare path is no other


class Herd(NamedTuple):
    jobs: int
    per_second: float
    submitted_per_second: float
    bare_per_second: float
    late: Spread
    cpu: dict[str, float]
    found: int
    over_time: Points


def measure() -> list[Row]:
    rows: list[Row] = []
    herds: dict[str, Herd] = {}
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"herd over {bus}", reason))
            continue
        bare = {jobs: limit.rate(bus, min(jobs, MOST_BARE)) for jobs in numbers("BENCH_HERD")}
        with fresh(bus) as stack:
            pace = Pace(stack)
            for jobs in numbers("BENCH_HERD"):
                herd = _drive(stack, pace, jobs, bare[jobs])
                herds[f"{bus} {jobs:,}"] = herd
                rows += _rows(f"herd of {jobs:,} over {bus}", herd)
    _draw(herds)
    return rows


def _drive(stack: Running, pace: Pace, jobs: int, bare: float) -> Herd:
    wave = Wave(stack, [pace.instant(jobs)] * jobs)
    sleep_until(wave.first - timedelta(seconds=0.2))
    before = stack.cpu_seconds()
    took = (wave.completed(PATIENCE_SECONDS) - wave.first).total_seconds()
    cpu = cpu_per_thousand(before, stack.cpu_seconds(), jobs)
    starts = wave.starts()
    over_time = rate_over_time([start.at for start in starts], wave.first.timestamp(), took / 40)
    return Herd(
        jobs=jobs,
        per_second=jobs / took,
        submitted_per_second=wave.submitted_per_second,
        bare_per_second=bare,
        late=spread(start.lateness for start in starts),
        cpu=cpu,
        found=sum(rule["found"] for rule in wave.verified()["rules"]),
        over_time=over_time,
    )


def _rows(name: str, herd: Herd) -> list[Row]:
    return [
        {"name": name, "unit": "jobs/s", "value": herd.per_second, "floor": herd.bare_per_second,
         "ratio": herd.per_second / herd.bare_per_second, "note": GOAL},
        {"name": f"{name}, submitted over HTTP", "unit": "jobs/s",
         "value": herd.submitted_per_second, "note": "batches of 1,000; goal 20,000"},
        *spread_rows(f"{name}, start lateness", herd.late),
        {"name": f"{name}, found by verify", "unit": "", "value": herd.found, "note": "goal 0"},
        *cpu_rows(name, herd.cpu),
    ]  # fmt: skip


def _draw(herds: dict[str, Herd]) -> None:
    flow = {name: herd.over_time for name, herd in herds.items()}
    draw("herd", picture.lines("Starts of a herd", flow, "seconds after its instant", "jobs/s"))
    cpu = {name: herd.cpu for name, herd in herds.items()}
    draw("herd-cpu", picture.bars("CPU of a herd", cpu, "ms per 1,000 jobs"))
