"""Sets of time as sorted, disjoint, half-open stretches of milliseconds."""

from bisect import bisect_right
from collections.abc import Iterable
from math import inf

from lamplighter.domain.schedule.times import EARLIEST_MS, LATEST_MS

Span = tuple[int, int]
Spans = tuple[Span, ...]


def union(spans: Iterable[Span]) -> Spans:
    """All that lies in any of them; they may come in any order and overlap."""
    merged: list[Span] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(spans: Spans) -> Spans:
    """All the time that a calendar can tell, less these."""
    edges = [EARLIEST_MS, *(edge for span in spans for edge in span), LATEST_MS]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return tuple((low, high) for low, high in pairs if low < high)


def intersection(ones: Spans, others: Spans) -> Spans:
    """All that lies in both."""
    found: list[Span] = []
    for low, high in ones:
        for start, end in others[_first_ending_after(others, low) :]:
            if start >= high:
                break
            found.append((max(low, start), min(high, end)))
    return tuple(found)


def at_or_after(spans: Spans, moment: int) -> Span | None:
    """The stretch that holds `moment`, or else the next one."""
    index = _first_ending_after(spans, moment)
    return spans[index] if index < len(spans) else None


def _first_ending_after(spans: Spans, moment: int) -> int:
    index = bisect_right(spans, (moment, inf))
    return index - 1 if index and spans[index - 1][1] > moment else index
