"""Rows of missed fires: which stretch of time each of them answers for."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime

from lamplighter.domain.run import Run


class Covers:
    def __init__(self, rows: Sequence[Run]) -> None:
        self._rows: dict[str, list[Run]] = {}
        for row in sorted(rows, key=lambda row: row.fire_at):
            self._rows.setdefault(row.pool, []).append(row)

    def row_at(self, pool: str, instant: datetime) -> Run | None:
        rows = self._rows.get(pool)
        if not rows:
            return None
        row = rows[max(0, bisect_right(rows, instant, key=lambda each: each.fire_at) - 1)]
        covers = row.missed_to is not None and row.fire_at <= instant <= row.missed_to
        return row if covers else None

    def leap(self, pools: Iterable[str], instant: datetime) -> datetime:
        """Up to where rows answer for every one of these pools, if any do; else no further."""
        rows = [self.row_at(pool, instant) for pool in pools] if self._rows else [None]
        ends = [row.missed_to if row and row.missed_to else instant for row in rows]
        return max(instant, min(ends, default=instant))
