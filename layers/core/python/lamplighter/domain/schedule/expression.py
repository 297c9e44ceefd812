"""A cron expression as bit masks over wall time. It knows no zone: seconds of a clock on a wall."""

from datetime import date
from functools import lru_cache

import msgspec

from lamplighter.domain.policy import DayMatch
from lamplighter.domain.schedule import syntax
from lamplighter.domain.schedule.syntax import Reading
from lamplighter.domain.schedule.times import DAY, EPOCH_DAY, day_number

_LENGTHS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LAST_YEAR = 9998
_ONCE_A_WEEK = sum(1 << 7 * week for week in range(5))


class Expression(msgspec.Struct, frozen=True):
    """Equal expressions match the same wall times, however they were written.

    `minutes` has a bit per minute of the day. `days` has a mask of days for each kind of month
    there is: what matches depends on the weekday of the 1st (Monday is 0) and on the length alone.
    `opening` is the first matching second of a day.
    """

    seconds: int
    minutes: int
    months: tuple[int, ...]
    days: tuple[int, ...]
    opening: int
    names_its_hours: bool

    @property
    def is_possible(self) -> bool:
        """Whether any date matches at all; `parse` leaves out months in which none ever does."""
        return bool(self.months)

    def at_or_after(self, wall: int) -> int | None:
        """The first matching second that is not before `wall`; None beyond the calendar's end."""
        day, second = divmod(wall, DAY)
        when = date.fromordinal(day + EPOCH_DAY)
        # Bit 0 is today. One mask answers for the rest of the month; most searches end here.
        rest = self._month(when.year, when.month) >> when.day
        if rest & 1:
            found = self._time_at_or_after(second)
            if found is not None:
                return day * DAY + found
        if later := rest >> 1:
            return (day + 1 + _lowest(later)) * DAY + self.opening
        return self._in_later_month(when)

    def _in_later_month(self, when: date) -> int | None:
        year, month = when.year, when.month
        while self.months and year < _LAST_YEAR:
            for later in self.months:
                if later > month and (mask := self._month(year, later)):
                    return day_number(date(year, later, _lowest(mask))) * DAY + self.opening
            year, month = year + 1, 0
        return None

    def count(self, wall_from: int, wall_to: int) -> int:
        """How many seconds in [wall_from, wall_to) match, without walking them."""
        first, start = divmod(wall_from, DAY)
        last, end = divmod(wall_to, DAY)
        whole = self._count_days(first, last) * self._count_times(DAY)
        head = self._count_times(start) if self._matches_day(first) else 0
        tail = self._count_times(end) if self._matches_day(last) else 0
        return whole - head + tail

    def _matches_day(self, day: int) -> bool:
        when = date.fromordinal(day + EPOCH_DAY)
        return bool(self._month(when.year, when.month) >> when.day & 1)

    def _month(self, year: int, month: int) -> int:
        """Bit d is set when the d-th of that month matches."""
        if month not in self.months:
            return 0
        leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return self.days[date(year, month, 1).weekday() * 4 + _LENGTHS[month] + leap - 28]

    def _count_days(self, first: int, last: int) -> int:
        """Matching days in [first, last)."""
        start, end = date.fromordinal(first + EPOCH_DAY), date.fromordinal(last + EPOCH_DAY)
        total = 0
        for number in range(start.year * 12 + start.month - 1, end.year * 12 + end.month):
            total += self._month(number // 12, number % 12 + 1).bit_count()
        before = self._month(start.year, start.month) & ((1 << start.day) - 1)
        beyond = self._month(end.year, end.month) >> end.day
        return total - before.bit_count() - beyond.bit_count()

    def _time_at_or_after(self, second: int) -> int | None:
        minute, rest = divmod(second, 60)
        if self.minutes >> minute & 1 and (seconds := self.seconds >> rest):
            return second + _lowest(seconds)
        minutes = self.minutes >> minute + 1
        if not minutes:
            return None
        return (minute + 1 + _lowest(minutes)) * 60 + _lowest(self.seconds)

    def _count_times(self, second: int) -> int:
        """Matching seconds of a day before its `second`."""
        minute, rest = divmod(second, 60)
        whole = (self.minutes & ((1 << minute) - 1)).bit_count() * self.seconds.bit_count()
        part = (self.seconds & ((1 << rest) - 1)).bit_count() if self.minutes >> minute & 1 else 0
        return whole + part


@lru_cache(maxsize=4096)
def parse(text: str, day_match: DayMatch) -> Expression:
    """The expression that `text` stands for; refuses what is not well-formed."""
    columns = syntax.columns(text)
    readings = [syntax.read(*pair) for pair in zip(syntax.FIELDS, columns, strict=True)]
    second, minute, hour, day, month, weekday = readings
    days = tuple(
        _days(day, weekday, day_match, first, length)
        for first in range(7)
        for length in range(28, 32)
    )
    seconds = _mask(second.values)
    minutes = sum(_mask(minute.values) << 60 * each for each in hour.values)
    return Expression(
        seconds=seconds,
        minutes=minutes,
        months=tuple(each for each in sorted(month.values) if _ever_matches(each, days)),
        days=days,
        opening=_lowest(minutes) * 60 + _lowest(seconds),
        names_its_hours=not hour.starts_with_star,
    )


def _ever_matches(month: int, days: tuple[int, ...]) -> bool:
    """Exact, not a guess: within 400 years every month, 29 February too, begins on every day."""
    lengths = (28, 29) if month == 2 else (_LENGTHS[month],)
    return any(days[first * 4 + length - 28] for first in range(7) for length in lengths)


def _days(day: Reading, weekday: Reading, match: DayMatch, first: int, length: int) -> int:
    # As in vixie cron: a field that starts with a star narrows the other one, it never widens it.
    both = match is DayMatch.AND or day.starts_with_star or weekday.starts_with_star
    of_month = _mask(day.values) | _special_days(day, first, length)
    of_week = _weekdays(weekday, first, length)
    return (of_month & of_week if both else of_month | of_week) & (1 << length + 1) - 2


def _special_days(day: Reading, first: int, length: int) -> int:
    mask = 0
    for number, kind in day.specials:
        mask |= 1 << (length if kind == "l" else _nearest_workday(number, first, length))
    return mask


def _nearest_workday(day: int, first: int, length: int) -> int:
    """Monday to Friday, never in another month: Saturday goes back a day, Sunday goes ahead."""
    day = min(day, length)
    weekday = (first + day - 1) % 7
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < length else day - 2
    return day


def _weekdays(weekday: Reading, first: int, length: int) -> int:
    mask = 0
    for name in weekday.values:
        mask |= _ONCE_A_WEEK << _first_day(name, first)
    for name, nth in weekday.specials:
        day = _first_day(name, first)
        weeks = (length - day) // 7 if nth == "l" else int(nth) - 1
        mask |= 1 << day + 7 * weeks
    return mask


def _first_day(name: int, first: int) -> int:
    """The first of the month that is a `name`; cron counts from Sunday, `first` from Monday."""
    return (name - first - 1) % 7 + 1


def _mask(values: frozenset[int]) -> int:
    return sum(1 << value for value in values)


def _lowest(mask: int) -> int:
    """The number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1
