"""Named, versioned sets of dates and windows that a schedule excludes or is limited to."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

import msgspec

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule.model import CalendarUse
from lamplighter.domain.schedule.spans import Span, Spans, complement, intersection, union
from lamplighter.domain.schedule.times import DAY, day_number, to_ms
from lamplighter.domain.schedule.zones import Zone, zone


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """From `start` up to, not including, `end`.

    With offsets: two instants, the same for everybody. Without: what the clock shows in the zone of
    whichever schedule uses the calendar.
    """

    start: datetime
    end: datetime


class Calendar(
    msgspec.Struct, frozen=True, cache_hash=True, omit_defaults=True, forbid_unknown_fields=True
):
    """Dates are whole days of the using schedule's zone. A change is a new version."""

    name: str
    version: int = 1
    dates: tuple[date, ...] = ()
    windows: tuple[Window, ...] = ()


Calendars = Mapping[str, Calendar] | Iterable[Calendar]


def validate_calendar(calendar: Calendar) -> Calendar:
    """The same calendar with sorted, distinct entries; refuses one that is empty or inside out."""
    if not calendar.name.strip():
        raise InvalidSchedule("calendar.name", "give the calendar a name")
    if calendar.version < 1:
        raise InvalidSchedule("calendar.version", "count versions from 1")
    if not (calendar.dates or calendar.windows):
        raise InvalidSchedule("calendar.dates", "give at least one date or window")
    for window in calendar.windows:
        _check_window(window)
    windows = sorted(set(calendar.windows), key=lambda each: _as_utc(each.start))
    return msgspec.structs.replace(
        calendar, dates=tuple(sorted(set(calendar.dates))), windows=tuple(windows)
    )


def allowed_spans(use: CalendarUse, zone_name: str, calendars: Calendars) -> Spans | None:
    """When a schedule may fire; None when no calendar says anything about it."""
    if not (use.exclude or use.only):
        return None
    known = _by_name(calendars)
    only = tuple(_named(name, known) for name in use.only)
    exclude = tuple(_named(name, known) for name in use.exclude)
    return _allowed(only, exclude, zone_name)


def _by_name(calendars: Calendars) -> Mapping[str, Calendar]:
    if isinstance(calendars, Mapping):
        return calendars
    # Of several versions the newest speaks.
    return {each.name: each for each in sorted(calendars, key=lambda each: each.version)}


def _named(name: str, known: Mapping[str, Calendar]) -> Calendar:
    if name not in known:
        have = ", ".join(sorted(known)) or "none yet"
        raise InvalidSchedule(
            "calendar", f"there is no calendar {name!r}; create it first (there are: {have})"
        )
    return known[name]


@lru_cache(maxsize=1024)
def _allowed(only: tuple[Calendar, ...], exclude: tuple[Calendar, ...], zone_name: str) -> Spans:
    where = zone(zone_name)
    outside = complement(union(_all_spans(exclude, where)))
    return intersection(union(_all_spans(only, where)), outside) if only else outside


def _all_spans(calendars: Sequence[Calendar], where: Zone) -> Iterator[Span]:
    for calendar in calendars:
        for day in calendar.dates:
            start = day_number(day) * DAY
            yield from _shown(where, start * 1000, (start + DAY) * 1000)
        for window in calendar.windows:
            yield from _window_spans(window, where)


def _window_spans(window: Window, where: Zone) -> Iterator[Span]:
    if window.start.tzinfo is not None:
        yield to_ms(window.start), to_ms(window.end)
        return
    yield from _shown(where, to_ms(_as_utc(window.start)), to_ms(_as_utc(window.end)))


def _shown(where: Zone, start: int, end: int) -> Iterator[Span]:
    """The milliseconds during which the clock shows [start, end), itself in milliseconds."""
    for low, high in where.instants(start // 1000, -(-end // 1000)):
        offset = where.segment(low).offset * 1000
        yield max(low * 1000, start - offset), min(high * 1000, end - offset)


def _as_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_window(window: Window) -> None:
    if (window.start.tzinfo is None) != (window.end.tzinfo is None):
        raise InvalidSchedule(
            "calendar.windows", "give both start and end an offset, or neither of them"
        )
    if window.end <= window.start:
        raise InvalidSchedule("calendar.windows", "let each window end after it starts")
