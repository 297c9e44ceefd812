"""The cost of a due job beside few and beside millions at rest, and after millions that ran.

Jobs at rest are one-offs of the coming days, and one in ten is a daily cron. Each size has a server
of its own, and its herds are weighed in CPU, which says more than the rate does on a busy machine.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import NamedTuple

from benchmarks import picture
from benchmarks.due import Pace, Wave, sleep_until
from benchmarks.figures import cpu_per_thousand
from benchmarks.fill import fill_ledger, fill_waiting
from benchmarks.report import Row, draw
from benchmarks.running import Running, filled
from benchmarks.sizes import number, numbers

BUS = "streams"
HERDS = 3
PATIENCE_SECONDS = 300.0
GOAL = "goal 1.20 at most"


class Cost(NamedTuple):
    """Of the middle one of some herds."""

    per_second: float
    cpu: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.cpu.values())


def measure() -> list[Row]:
    costs = {
        f"{rows:,} jobs at rest": _beside(lambda url, rows=rows: _wait(url, rows))  # type: ignore[misc]
        for rows in numbers("BENCH_RESTING")
    }
    finished = number("BENCH_FINISHED")
    after = f"after {finished:,} runs"
    costs[after] = _beside(lambda url: fill_ledger(url, finished))
    draw("scale", picture.bars("CPU of a due job", {name: each.cpu for name, each in costs.items()},
                               "ms per 1,000 jobs"))  # fmt: skip
    least = next(iter(costs.values()))
    return [row for name, cost in costs.items() for row in _rows(name, cost, least)]


def _wait(url: str, rows: int) -> None:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    fill_waiting(url, rows, (tomorrow, tomorrow + timedelta(days=5)))


def _beside(fill: Callable[[str], None]) -> Cost:
    with filled(BUS, fill) as stack:
        pace = Pace(stack)
        herds = [_herd(stack, pace) for _ in range(HERDS)]
    middle = sorted(herds, key=lambda each: each.total)[HERDS // 2]
    return Cost(median(each.per_second for each in herds), middle.cpu)


def _herd(stack: Running, pace: Pace) -> Cost:
    jobs = number("BENCH_DUE")
    wave = Wave(stack, [pace.instant(jobs)] * jobs)
    sleep_until(wave.first - timedelta(seconds=0.2))
    before = stack.cpu_seconds()
    took = (wave.completed(PATIENCE_SECONDS) - wave.first).total_seconds()
    return Cost(jobs / took, cpu_per_thousand(before, stack.cpu_seconds(), jobs))


def _rows(name: str, cost: Cost, least: Cost) -> list[Row]:
    return [
        {"name": f"CPU of a due job, {name}", "unit": "ms/1,000", "value": cost.total,
         "floor": least.total, "ratio": cost.total / least.total, "note": GOAL},
        {"name": f"herd of {number('BENCH_DUE'):,}, {name}", "unit": "jobs/s",
         "value": cost.per_second, "floor": least.per_second,
         "ratio": cost.per_second / least.per_second},
    ]  # fmt: skip
