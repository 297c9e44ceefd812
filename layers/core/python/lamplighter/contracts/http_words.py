"""msgspec's sentences, in words that name the fix: "give a whole number from 1 to 10"."""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Meta

_EXPECTED: Final = re.compile(r"Expected `(?P<kinds>[a-z0-9 |]+)`(?:, got `.*`| [<>]=? \S+)?$")
_ENUM: Final = re.compile(r"Invalid enum value (?P<value>.*)$", re.DOTALL)
_TIME: Final = "an RFC 3339 time such as 2026-03-28T02:30:00Z"
_DATE: Final = "a date such as 2026-03-28"
_ID: Final = "an id, a UUID, as an answer named it"
_INVALID: Final = {
    "Invalid RFC3339 encoded datetime": _TIME,
    "Invalid RFC3339 encoded date": _DATE,
    "Invalid UUID": _ID,
}
_KINDS: Final = {
    "array": "a list",
    "bool": "true or false",
    "date": _DATE,
    "datetime": _TIME,
    "object": "an object",
    "str": "text",
    "uuid": _ID,
}
_NUMBERS: Final = {"int": "a whole number", "float": "a number"}
_SHOWN_CHARACTERS: Final = 100


def worded(rule: str, parts: Iterable[Any]) -> str:
    """`parts` are what the field's type is made of: its bounds are there, not in the sentence."""
    if rule in _INVALID:
        return f"give {_INVALID[rule]}"
    if enum := _ENUM.match(rule):
        return f"there is no choice {enum['value'][:_SHOWN_CHARACTERS]}"
    if expected := _EXPECTED.match(rule):
        kinds = [kind for kind in expected["kinds"].split(" | ") if kind != "null"]
        if kinds and all(kind in _KINDS or kind in _NUMBERS for kind in kinds):
            bounds = [part for part in parts if isinstance(part, Meta)]
            return f"give {' or '.join(_kind(kind, bounds) for kind in kinds)}"
    return lowered(rule)


def lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _kind(kind: str, bounds: list[Meta]) -> str:
    return _NUMBERS[kind] + _range(bounds) if kind in _NUMBERS else _KINDS[kind]


def _range(bounds: list[Meta]) -> str:
    low = next((each.ge for each in bounds if each.ge is not None), None)
    high = next((each.le for each in bounds if each.le is not None), None)
    if low is not None and high is not None:
        return f" from {low:,} to {high:,}"
    if low is not None:
        return f" of at least {low:,}"
    return "" if high is None else f" of at most {high:,}"
