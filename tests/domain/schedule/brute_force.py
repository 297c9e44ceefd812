"""The documented semantics once more, written as slowly and plainly as possible.

Walks every minute of UTC, asks the tz database what the clock shows, and applies the rules of
docs/semantics.md to that one minute. Shares no code with what it checks.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


class Rule(NamedTuple):
    """A five-field expression as sets, beside the text that says the same."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    star_hour: bool = False
    star_day: bool = False
    star_weekday: bool = False
    both_days: bool = False

    def matches_day(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.both_days or self.star_day or self.star_weekday:
            return of_month and of_week
        return of_month or of_week

    def matches(self, wall: datetime) -> bool:
        return (
            wall.minute in self.minutes
            and wall.hour in self.hours
            and self.matches_day(wall.date())
        )


def walk(
    rule: Rule, zone: ZoneInfo, start: datetime, end: datetime, policy: tuple[str, str]
) -> Iterator[datetime]:
    """Fires in [start, end), both on a whole minute."""
    moment = start
    previous = (start - MINUTE).astimezone(zone)
    while moment < end:
        shown = moment.astimezone(zone)
        if fires_now(rule, previous, shown, *policy):
            yield moment
        previous, moment = shown, moment + MINUTE


def fires_now(rule: Rule, previous: datetime, shown: datetime, gap: str, overlap: str) -> bool:
    wall = shown.replace(tzinfo=None, fold=0)
    if rule.star_hour:
        return rule.matches(wall)
    if rule.matches(wall) and wanted(shown, overlap):
        return True
    return gap == "shift" and swallowed(rule, previous.replace(tzinfo=None, fold=0), wall)


def wanted(shown: datetime, overlap: str) -> bool:
    twice = shown.replace(fold=0).utcoffset() != shown.replace(fold=1).utcoffset()
    return not twice or overlap == "both" or (overlap == "second") == bool(shown.fold)


def swallowed(rule: Rule, previous: datetime, wall: datetime) -> bool:
    """Whether the clock has just jumped over a time that matches."""
    missing = previous + MINUTE
    while missing < wall:
        if rule.matches(missing):
            return True
        missing += MINUTE
    return False


def whole_minutes(zone: ZoneInfo, moment: datetime) -> bool:
    offset = moment.astimezone(UTC).astimezone(zone).utcoffset()
    return offset is not None and offset.total_seconds() % 60 == 0
