"""Overlap, concurrency and order: never more at once than may be, and none out of turn.

Ends that touch do not overlap: the slot that one transaction gives up, the next one takes.
"""

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import attrgetter

from lamplighter.stages.verify.findings import Said, Verdicts, at
from lamplighter.stages.verify.holdings import Holding, Holdings, Turn
from lamplighter.stages.verify.lives import CHANGING, FAR_AHEAD

_LONG_AGO = datetime.min.replace(tzinfo=FAR_AHEAD.tzinfo)


def runs_do_not_overlap(holdings: Holdings) -> Verdicts:
    """By overlap policy and by ordering key: one at a time, from its first start to its end."""
    yield from _within_limits(holdings.alone)


def limits_are_kept(holdings: Holdings) -> Verdicts:
    """By max_concurrency, of a job or of a key that several share; and by a backfill's budget."""
    yield from _within_limits(holdings.limited)


def _within_limits(keys: Mapping[str, list[Holding]]) -> Verdicts:
    """Where limits differ under one key, the widest of those at work counts.

    Who waited got the slot before it started, and whoever came between went by a limit of its own.
    """
    for key, holdings in keys.items():
        active: list[tuple[datetime, int, Holding]] = []
        for number, each in enumerate(sorted(holdings, key=attrgetter("start", "end"))):
            while active and active[0][0] <= each.start:
                heapq.heappop(active)
            heapq.heappush(active, (each.end, number, each))
            limit = each.limit if len(active) <= each.limit else max(o.limit for _, _, o in active)
            yield None if len(active) <= limit else _too_many(key, each, limit, active)


def _too_many(
    key: str, each: Holding, limit: int, active: Iterable[tuple[datetime, int, Holding]]
) -> Said:
    others = [other for _, _, other in active if other.run_id != each.run_id]
    until = [other.end for other in others if other.end != FAR_AHEAD]
    told = f"until {at(max(until))}" if len(until) == len(others) else "and still does"
    names = ", ".join(str(other.run_id) for other in others[:3])
    text = f"it started at {at(each.start)} although {names} held {key!r} {told}"
    return Said(f"{text} (limit {limit})", each.job_id, each.run_id)


def order_is_kept(holdings: Holdings) -> Verdicts:
    """First in first out by fire, among those that were in line; equal fires in any order."""
    for key, turns in holdings.turns.items():
        yield from _in_order(key, turns)


def _in_order(key: str, turns: list[Turn]) -> Verdicts:
    joining = sorted(turns, key=attrgetter("joined"), reverse=True)
    in_line: list[tuple[datetime, int, Turn]] = []
    ended: list[datetime] = []
    released = _LONG_AGO
    started = [(turn.start, turn) for turn in turns if turn.start is not None]
    for start, turn in sorted(started, key=lambda each: (each[0], each[1].fire_at)):
        # Who was parked got the slot when it became free, and whoever came then came too late. Of
        # those that ended at this very instant, nobody can tell whether that was before.
        while ended and ended[0] < start:
            released = heapq.heappop(ended)
        decided = start if turn.surely else min(start, released)
        while joining and joining[-1].joined + CHANGING <= decided:
            waiting = joining.pop()
            heapq.heappush(in_line, (waiting.fire_at, len(joining), waiting))
        while in_line and min(in_line[0][2].start or FAR_AHEAD, in_line[0][2].end) <= start:
            heapq.heappop(in_line)
        first = in_line[0][2] if in_line else None
        if turn.end != FAR_AHEAD:
            heapq.heappush(ended, turn.end)
        if first is None or first.fire_at >= turn.fire_at:
            yield None
        else:
            text = f"it started at {at(start)} for {at(turn.fire_at)}, in {key!r} before"
            other = f"{first.run_id}, which was there first for {at(first.fire_at)}"
            yield Said(f"{text} {other}", turn.job_id, turn.run_id)
