"""Reads cron text with croniter, one field at a time, so that a refusal can name the field.

croniter decides what is well-formed and what it expands to. Seconds are given to it as minutes,
which have the same range: its own six-field mode reads day 0 as day 1 and knows no Sunday 7.
What it would accept and expand to something nobody meant is put right or refused here.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from lamplighter.domain.errors import InvalidSchedule

if TYPE_CHECKING:
    from croniter import croniter


class Field(NamedTuple):
    """A column of a cron expression: where croniter has it, its values, and what may be written."""

    name: str
    column: int
    low: int
    high: int
    fix: str


_LISTS = "and lists, ranges and steps of these"
SECOND = Field("second", 0, 0, 59, f"use 0-59, * {_LISTS}")
MINUTE = Field("minute", 0, 0, 59, f"use 0-59, * {_LISTS}")
HOUR = Field("hour", 1, 0, 23, f"use 0-23, * {_LISTS}")
DAY = Field("day of month", 2, 1, 31, f"use 1-31, * {_LISTS}, L for the last day, 15W, or ?")
MONTH = Field("month", 3, 1, 12, f"use 1-12 or JAN-DEC, * {_LISTS}")
WEEKDAY = Field(
    "day of week",
    4,
    0,
    7,
    f"use 0-7 or SUN-SAT, * {_LISTS}, or ?; or, not mixed with plain days, FRI#2 for the second "
    "Friday and L5 for the last",
)
FIELDS = (SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGE = re.compile(r"(\w+)-(\w+)((?:/\d+|#\d+)?)")
_STEP = re.compile(r".*/(\d+)")
_HASHED = re.compile(r"[hr](\(.*\))?(/.*)?")
_LAST_WEEKDAY = re.compile(r"(\w+)l")


class Reading(NamedTuple):
    """What one field stands for. `specials` are L and 15W of days, (weekday, nth or L) of weeks."""

    starts_with_star: bool
    values: frozenset[int]
    specials: frozenset[tuple[int, str]] = frozenset()


def columns(expression: str) -> list[str]:
    """Six columns, seconds first. Five get second 0, and `@daily` and its kin are spelt out."""
    text = expression.strip().lower()
    if not text.isascii():
        raise refuse(f"{expression!r} has characters that cron does not know; use ASCII")
    if text.startswith("@"):
        text = _nickname(text)
    parts = text.split()
    if len(parts) == 7:
        raise refuse("seven fields: leave out the year; start_at and end_at bound a schedule")
    if len(parts) not in (5, 6):
        raise refuse(
            f"{len(parts)} fields: write five (minute hour day month weekday), or six with "
            "seconds first"
        )
    return parts if len(parts) == 6 else ["0", *parts]


def refuse(fix: str) -> InvalidSchedule:
    """Every complaint about cron text is about the same field of the schedule."""
    return InvalidSchedule("cron_expression", fix)


def _croniter(text: str) -> "croniter":
    """Imported by whoever reads an expression: most functions never do, and it takes its time."""
    from croniter import croniter

    return croniter(text, 0)


# A hundred thousand expressions are made of a few hundred different fields.
@lru_cache(maxsize=4096)
def read(field: Field, text: str) -> Reading:
    """Values and specials of one column, or a refusal that names the column."""
    tidy = ",".join(_tidy(field, item) for item in text.split(","))
    row = ["*"] * 5
    row[field.column] = tidy
    try:
        parsed = _croniter(" ".join(row))
    except (ValueError, TypeError, KeyError):
        raise refuse(f"{field.name} {text!r} is not understood; {field.fix}") from None
    plain = {str(value) for value in parsed.expanded[field.column]}
    nths = {
        (str(day), str(nth))
        for day, many in parsed.nth_weekday_of_month.items()
        for nth in many
        if field is WEEKDAY
    }
    if nths and plain - {day for day, _ in nths}:
        raise refuse(f"{field.name} {text!r} mixes plain and nth days; {field.fix}")
    nearest = {(str(day), "w") for day in parsed.nearest_weekday if field is DAY}
    return Reading(text[0] in "*?", *_values(field, plain, nths | nearest))


def _values(
    field: Field, plain: set[str], specials: set[tuple[str, str]]
) -> tuple[frozenset[int], frozenset[tuple[int, str]]]:
    if specials:  # croniter lists their days among the plain ones too
        return frozenset(), frozenset((int(day), kind) for day, kind in specials)
    last = frozenset((0, item) for item in plain if item == "l")
    if "*" in plain:
        return frozenset(range(field.low, field.high + 1)), last
    return frozenset(int(item) for item in plain if item != "l"), last


def _tidy(field: Field, item: str) -> str:
    """The same item, where croniter would read it as vixie cron does; else put right or refused."""
    if _HASHED.fullmatch(item):
        raise refuse(
            f"{field.name} {item!r} is hashed or random, and a fire must be the same on every "
            "machine; use jitter_seconds to spread load"
        )
    step = _STEP.fullmatch(item)
    if step and int(step[1]) > field.high - field.low + 1:
        raise refuse(
            f"{field.name} {item!r} steps past its own range; use schedule_type INTERVAL "
            "for a period that cron cannot write"
        )
    last = _LAST_WEEKDAY.fullmatch(item)
    if field is WEEKDAY and last and _value(last[1]) is not None:
        return f"l{_value(last[1])}"  # 5L, as some write L5
    span = _RANGE.fullmatch(item)
    return _tidy_range(field, item, span) if span else item


def _tidy_range(field: Field, item: str, span: re.Match[str]) -> str:
    low, high, rest = _value(span[1]), _value(span[2]), span[3]
    if low is None or high is None:
        return item
    if field is WEEKDAY and low == 7 != high:
        low = 0
    if low == high:
        # croniter takes 9-9 for the whole field: "at nine" would become "every hour".
        return span[1] + (rest if rest.startswith("#") else "")
    if low > high and rest.startswith("/") and rest != "/1":
        # croniter expands 22-4/3 to 22, 2 instead of 22, 1, 4.
        raise refuse(f"{field.name} {item!r} steps across the end of its range; list the values")
    return item


def _value(text: str) -> int | None:
    if text in _MONTHS:
        return _MONTHS.index(text) + 1
    if text in _WEEKDAYS:
        return _WEEKDAYS.index(text)
    return int(text) if text.isdigit() else None


def _nickname(text: str) -> str:
    if text.startswith("@every"):
        raise refuse(f"{text!r}: use schedule_type INTERVAL with interval_seconds")
    if text == "@reboot":
        raise refuse("'@reboot': a schedule has no boot; use schedule_type IMMEDIATE")
    try:
        return " ".join(_croniter(text).expressions)
    except ValueError:
        raise refuse(
            f"{text!r} is not known; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly "
            "or @annually"
        ) from None
