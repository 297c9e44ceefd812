"""Promise 3: how late runs started."""

from array import array
from datetime import timedelta
from typing import Final

import msgspec

from lamplighter.stages.verify.case import Case

_MILLISECOND: Final = timedelta(milliseconds=1)


class Percentiles(msgspec.Struct, frozen=True):
    """Milliseconds after they were due; None where nothing started."""

    runs: int
    p50: float | None = None
    p99: float | None = None
    max: float | None = None


class Lateness:
    """Apart: what waited for an upstream or a slot, and backfills, late by their nature."""

    def __init__(self) -> None:
        self._own = array("d")
        self._excused = array("d")

    def add(self, case: Case) -> None:
        for run in case.runs:
            start = case.first_start(run)
            if start is not None:
                excused = run.excused or run.origin.startswith("backfill:")
                late = max(0.0, (start - run.due_at) / _MILLISECOND)
                (self._excused if excused else self._own).append(late)

    def own(self) -> Percentiles:
        return _percentiles(self._own)

    def excused(self) -> Percentiles:
        return _percentiles(self._excused)


def _percentiles(values: "array[float]") -> Percentiles:
    """By nearest rank: each is a lateness that really was."""
    if not values:
        return Percentiles(0)
    ranked = sorted(values)
    p50, p99 = (ranked[-(-len(ranked) * share // 100) - 1] for share in (50, 99))
    return Percentiles(len(ranked), p50, p99, ranked[-1])
