"""Steady work: jobs submitted beforehand, due one after the other at even distances.

Rate by rate upwards, until one is clearly too much. The answer is the highest rate up to which p99
of the start lateness, taken inside the handler, stays below 2 s, 250 ms and 100 ms.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from benchmarks import picture
from benchmarks.due import Pace, Wave, sleep_until
from benchmarks.figures import (
    Points,
    Spread,
    cpu_per_thousand,
    cpu_rows,
    highest_that_holds,
    lateness_over_time,
    spread,
    spread_rows,
)
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh
from benchmarks.sizes import number, numbers, words

LIMITS = {2.0: "goal 9,000", 0.25: "", 0.1: "goal 5,000"}
PATIENCE_SECONDS = 120.0


class Stretch(NamedTuple):
    late: Spread
    cpu: dict[str, float]
    found: int
    over_time: Points


def measure() -> list[Row]:
    rows: list[Row] = []
    lateness: dict[str, Points] = {}
    cpu: dict[str, dict[str, float]] = {}
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"steady over {bus}", reason))
            continue
        stretches = _climb(bus)
        for rate, stretch in stretches.items():
            rows += _rows(f"steady {rate:,}/s over {bus}", stretch)
        lateness |= {f"{bus} {rate:,}/s": each.over_time for rate, each in stretches.items()}
        cpu |= {f"{bus} {rate:,}/s": each.cpu for rate, each in list(stretches.items())[-1:]}
        rows += _held(bus, {rate: each.late.p99 for rate, each in stretches.items()})
    axes = ("seconds after the first", "ms")
    draw("steady", picture.lines("Lateness (p99) of steady work", lateness, *axes))
    draw("steady-cpu", picture.bars("CPU of steady work", cpu, "ms per 1,000 jobs"))
    return rows


def _climb(bus: str) -> dict[int, Stretch]:
    """Ends with the first rate that does not hold even 2 s."""
    stretches: dict[int, Stretch] = {}
    with fresh(bus) as stack:
        pace = Pace(stack)
        for rate in sorted(numbers("BENCH_RATES")):
            stretches[rate] = _stretch(stack, pace, rate, number("BENCH_STEADY_SECONDS"))
            if stretches[rate].late.p99 >= max(LIMITS):
                break
    return stretches


def _stretch(stack: Running, pace: Pace, rate: int, seconds: int) -> Stretch:
    jobs = rate * seconds
    wave = Wave(stack, _evenly(pace.instant(jobs), rate, jobs))
    sleep_until(wave.first - timedelta(seconds=0.2))
    before = stack.cpu_seconds()
    wave.completed(seconds + PATIENCE_SECONDS)
    cpu = cpu_per_thousand(before, stack.cpu_seconds(), jobs)
    began = wave.first.timestamp()
    late = [(start.fire - began, start.lateness) for start in wave.starts()]
    return Stretch(
        late=spread(seconds for _, seconds in late),
        cpu=cpu,
        found=sum(rule["found"] for rule in wave.verified()["rules"]),
        over_time=lateness_over_time(late, 1.0, 0.99),
    )


def _evenly(first: datetime, rate: int, jobs: int) -> list[datetime]:
    return [first + timedelta(seconds=n / rate) for n in range(jobs)]


def _rows(name: str, stretch: Stretch) -> list[Row]:
    found = {"name": f"{name}, found by verify", "unit": "", "value": stretch.found}
    late = spread_rows(f"{name}, lateness", stretch.late)
    return [*late, found, *cpu_rows(name, stretch.cpu)]


def _held(bus: str, p99_of: dict[int, float]) -> list[Row]:
    return [
        {"name": f"steady over {bus}, p99 below {1000 * limit:,.0f} ms up to", "unit": "jobs/s",
         "value": highest_that_holds(p99_of, limit) or 0, "note": goal}
        for limit, goal in LIMITS.items()
    ]  # fmt: skip
