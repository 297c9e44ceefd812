"""What is told of each, and the arithmetic behind it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from benchmarks.report import Row

LIMIT_SECONDS: Final = 2.0
# Steady work may be easier than a herd, which has to be found first; twice as easy was not seen.
AT_MOST: Final = 1.5


class Herd(NamedTuple):
    jobs: int
    per_second: float
    p99: float


class Steady(NamedTuple):
    """The highest rate that held, and its p99; the rate is 0 where none did."""

    rate: int
    p99: float


class Figures(NamedTuple):
    """`herds` by the size that was asked for. None of batches: it has no such way."""

    title: str
    note: str
    herds: Mapping[int, Herd]
    steady: Steady
    one_by_one: float
    in_batches: float | None


def worth_trying(rates: Iterable[int], herd: float) -> list[int]:
    """From the highest down, without those that are hopeless; the lowest in any case."""
    ordered = sorted(rates, reverse=True)
    return [rate for rate in ordered if rate <= AT_MOST * herd] or ordered[-1:]


def highest(rates: Sequence[int], p99_at: Callable[[int], float]) -> Steady:
    """The first that holds, trying them in this order."""
    p99 = float("inf")
    for rate in rates:
        p99 = p99_at(rate)
        if p99 < LIMIT_SECONDS:
            return Steady(rate, p99)
    return Steady(0, p99)


def rows(every: Sequence[Figures], ours: Figures | None) -> list[Row]:
    """Figure by figure, so that they stand side by side. The ratio: ours to each of the others."""
    sizes = sorted({size for each in every for size in each.herds})
    pairs = [(each, None if each is ours else ours) for each in every]
    return [
        *(_herd(size, *pair) for size in sizes for pair in pairs if size in pair[0].herds),
        *(_steady(*pair) for pair in pairs),
        *(_one_by_one(*pair) for pair in pairs),
        *(_batches(*pair) for pair in pairs),
    ]


def _herd(size: int, each: Figures, ours: Figures | None) -> Row:
    """One that is smaller than what was asked for stands beside ours of full size."""
    jobs, per_second, p99 = each.herds[size]
    note = f"p99 {1000 * p99:,.0f} ms; {each.note}"
    mine = ours and ours.herds[size].per_second
    return _row(f"herd of {jobs:,}: {each.title}", per_second, mine, note)


def _steady(each: Figures, ours: Figures | None) -> Row:
    rate, p99 = each.steady
    late = f"{1000 * p99:,.0f} ms" if p99 < float("inf") else "without end"
    note = f"p99 {late}" if rate else f"none of the rates held: p99 {late}"
    return _row(f"steady, p99 below 2 s: {each.title}", rate, ours and ours.steady.rate, note)


def _one_by_one(each: Figures, ours: Figures | None) -> Row:
    return _row(f"submit one by one: {each.title}", each.one_by_one, ours and ours.one_by_one)


def _batches(each: Figures, ours: Figures | None) -> Row:
    name = f"submit in batches of 1,000: {each.title}"
    if each.in_batches is None:
        return {"name": name, "unit": "", "value": 0, "note": "it has no such way"}
    return _row(name, each.in_batches, ours and ours.in_batches)


def _row(name: str, value: float, ours: float | None, note: str = "") -> Row:
    row: Row = {"name": name, "unit": "jobs/s", "value": value, "note": note}
    return {**row, "ratio": ours / value} if value and ours else row
