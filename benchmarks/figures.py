"""The arithmetic between what was noted and what is told."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from benchmarks.report import Row

Points = list[tuple[float, float]]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all values does not exceed: one that occurred, not a mean."""
    ordered = sorted(values)
    return ordered[max(0, _ceiling(share * len(ordered)) - 1)]


def _ceiling(value: float) -> int:
    """0.99 of 100 is the 99th, whatever the arithmetic of halves makes of it."""
    return -int(-round(value, 6) // 1)


class Spread(NamedTuple):
    """In seconds."""

    p50: float
    p99: float
    most: float


def spread(values: Iterable[float]) -> Spread:
    ordered = sorted(values)
    return Spread(percentile(ordered, 0.5), percentile(ordered, 0.99), ordered[-1])


def spread_rows(name: str, found: Spread, note: str = "") -> list[Row]:
    """In milliseconds; the note goes with p99, which is what goals are about."""
    notes = {"p99": note}
    return [
        {"name": f"{name}, {which}", "unit": "ms", "value": 1000 * value,
         "note": notes.get(which, "")}
        for which, value in found._asdict().items()
    ]  # fmt: skip


def highest_that_holds(p99_of: Mapping[int, float], limit: float) -> int | None:
    """The highest rate up to which, rate by rate, p99 stays below the limit; None: not even one.

    A higher one that holds by luck after a lower one did not, says nothing.
    """
    held = None
    for rate in sorted(p99_of):
        if p99_of[rate] >= limit:
            break
        held = rate
    return held


class Gap(NamedTuple):
    began: float
    seconds: float


def longest_gap(times: Iterable[float]) -> Gap:
    """The longest time in which nothing happened, between two times at which something did."""
    ordered = sorted(times)
    gaps = [Gap(before, after - before) for before, after in pairwise(ordered)]
    return max(gaps, key=lambda gap: gap.seconds, default=Gap(ordered[0], 0.0))


def rate_over_time(times: Sequence[float], since: float, step: float) -> Points:
    """How many happened in each step, per second; steps in which nothing did are there, too."""
    counts: dict[int, int] = defaultdict(int)
    for at in times:
        counts[int((at - since) // step)] += 1
    last = max(counts, default=-1)
    return [(n * step, counts[n] / step) for n in range(last + 1)]


def lateness_over_time(pairs: Iterable[tuple[float, float]], step: float, share: float) -> Points:
    """From (seconds since the beginning, lateness): a percentile of each step, in milliseconds."""
    by_step: dict[int, list[float]] = defaultdict(list)
    for at, late in pairs:
        by_step[int(at // step)].append(late)
    return [(n * step, 1000 * percentile(by_step[n], share)) for n in sorted(by_step)]


def cpu_per_thousand(
    before: Mapping[str, float], after: Mapping[str, float], jobs: int
) -> dict[str, float]:
    """Milliseconds of CPU that each component spent on a thousand jobs, the dearest first."""
    spent = {name: after[name] - before.get(name, 0.0) for name in after}
    dear = sorted(spent.items(), key=lambda each: -each[1])
    return {name: 1e6 * seconds / jobs for name, seconds in dear}


def cpu_rows(name: str, used: Mapping[str, float]) -> list[Row]:
    unit = "ms/1,000"
    total: Row = {"name": f"{name}, CPU", "unit": unit, "value": sum(used.values())}
    return [
        total,
        *({"name": f"  {part}", "unit": unit, "value": value} for part, value in used.items()),
    ]
