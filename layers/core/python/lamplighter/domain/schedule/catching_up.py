"""What becomes of fires that nobody planned in time: after an outage, or a long pause of a watcher.

Fires are counted, not walked, so thirty days of a fire a second cost no more than thirty days of
a fire a day.
"""

import sys
from datetime import datetime, timedelta
from itertools import islice

import msgspec

from lamplighter.domain.policy import CatchUp
from lamplighter.domain.schedule.calendars import Calendars
from lamplighter.domain.schedule.model import Schedule
from lamplighter.domain.schedule.timeline import Timeline, timeline, walk
from lamplighter.domain.schedule.times import from_ms, to_ms

LATE_AFTER = timedelta(seconds=60)


class Missed(msgspec.Struct, frozen=True):
    """Consecutive fires that will not run: one row of the ledger, SKIPPED: missed_window."""

    from_fire: datetime
    to_fire: datetime
    count: int


class Settlement(msgspec.Struct, frozen=True):
    """What to write: runs, rows for the missed, and the first fire that neither covers.

    `more` says that late fires are left; settle again from `next_fire_at`, with the same answer
    for every fire as one larger page would have given.
    """

    run: tuple[datetime, ...]
    missed: tuple[Missed, ...]
    next_fire_at: datetime | None
    more: bool


def catch_up(
    schedule: Schedule,
    next_fire_at: datetime,
    now: datetime,
    *,
    page: int = 1000,
    calendars: Calendars = (),
) -> Settlement:
    """Settle the fires from `next_fire_at` on that are more than a minute late at `now`.

    `page` bounds how many runs one call returns. Fires less late than that are not touched: they
    are planned as usual, and `next_fire_at` points to the first of them. Late is who is late by
    when it was due: where jitter adds to each fire, take that from `now`.
    """
    line = timeline(schedule, calendars)
    start, cutoff = to_ms(next_fire_at), to_ms(now - LATE_AFTER)
    first_run = _first_run(schedule, line, start, to_ms(now))
    missed = _missed(line, start, first_run)
    run = list(islice(walk(line, first_run - 1, cutoff - 1), page))
    upcoming = line.next(run[-1] if run else max(first_run, start) - 1)
    return Settlement(
        run=tuple(from_ms(fire) for fire in run),
        missed=missed,
        next_fire_at=None if upcoming is None else from_ms(upcoming),
        more=upcoming is not None and upcoming < cutoff,
    )


def settle_all(
    schedule: Schedule,
    next_fire_at: datetime,
    now: datetime,
    calendars: Calendars = (),
    *,
    delay: timedelta = timedelta(0),
) -> Settlement:
    """Settle every fire up to `now`, the punctual ones too: the schedule ends here, or changes."""
    late = catch_up(schedule, next_fire_at, now - delay, page=sys.maxsize, calendars=calendars)
    line, last = timeline(schedule, calendars), to_ms(now)
    punctual = () if late.next_fire_at is None else walk(line, to_ms(late.next_fire_at) - 1, last)
    upcoming = line.next(last)
    return Settlement(
        run=(*late.run, *(from_ms(fire) for fire in punctual)),
        missed=late.missed,
        next_fire_at=None if upcoming is None else from_ms(upcoming),
        more=False,
    )


def pass_over(
    schedule: Schedule, next_fire_at: datetime, now: datetime, calendars: Calendars = ()
) -> Settlement:
    """Let none of the fires from `next_fire_at` up to `now` run."""
    line, last = timeline(schedule, calendars), to_ms(now)
    upcoming = line.next(last)
    return Settlement(
        run=(),
        missed=_missed(line, to_ms(next_fire_at), last + 1),
        next_fire_at=None if upcoming is None else from_ms(upcoming),
        more=False,
    )


def missed_after(
    schedule: Schedule, told_to: datetime, last: datetime, calendars: Calendars = ()
) -> Missed | None:
    """What is left of missed fires up to `last` where those up to `told_to` are told of already."""
    left = _missed(timeline(schedule, calendars), to_ms(told_to) + 1, to_ms(last) + 1)
    return left[0] if left else None


def _first_run(schedule: Schedule, line: Timeline, start: int, now: int) -> int:
    """Late fires before this moment are missed; those from it on run."""
    if schedule.schedule_type.is_one_off:
        return start  # it has no later fire that could make up for this one
    policy = schedule.catch_up
    cutoff = max(start, now - LATE_AFTER // timedelta(milliseconds=1))
    if policy.policy is CatchUp.NONE:
        return cutoff
    oldest = min(max(start, now - policy.window_seconds * 1000), cutoff)
    if policy.policy is CatchUp.LATEST:
        latest = line.last_before(cutoff, oldest - 1)
        return cutoff if latest is None else latest
    return _nth_last(line, oldest, cutoff, policy.limit)


def _nth_last(line: Timeline, start: int, end: int, wanted: int) -> int:
    """The latest moment from `start` on that has `wanted` fires up to `end`; else `start`."""
    low, high = start, end
    if line.count(low, high) <= wanted:
        return low
    while high - low > 1:
        middle = (low + high) // 2
        if line.count(middle, end) >= wanted:
            low = middle
        else:
            high = middle
    return low


def _missed(line: Timeline, start: int, end: int) -> tuple[Missed, ...]:
    count = line.count(start, end)
    first = line.next(start - 1)
    last = line.last_before(end, start - 1)
    if not count or first is None or last is None:
        return ()
    return (Missed(from_ms(first), from_ms(last), count),)
