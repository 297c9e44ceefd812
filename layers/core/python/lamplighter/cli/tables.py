"""What people read: aligned columns, colours where there is somebody to see them."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Final
from unicodedata import combining, east_asian_width

import click

_COLOUR_OF: Final = {
    "SUCCESS": "green",
    "RUNNING": "cyan",
    "CANCELLING": "cyan",
    "FAILED": "red",
    "TIMED_OUT": "red",
    "REJECTED": "red",
    "HELD": "magenta",
    "RETRYING": "yellow",
    "PAUSED": "yellow",
    "CANCELLED": "bright_black",
    "SKIPPED": "bright_black",
}
_GAP: Final = "  "


def say(text: str = "", *, err: bool = False) -> None:
    """Colours go to a terminal only, and not where NO_COLOR forbids them."""
    click.echo(text, err=err, color=False if os.environ.get("NO_COLOR") else None)


def say_json(body: Any) -> None:
    """Nothing but ASCII: no character of a job's name reaches the terminal as it is."""
    click.echo(json.dumps(body, indent=2))


def plain(text: str) -> str:
    """On one line and harmless: what would move the cursor is spelt out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_lines(text: str) -> str:
    """The same, but for the ends of lines, and tabs."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" else plain(c) for c in text)


def shorten(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as their widest cell. None is an empty one."""
    cells = [["" if cell is None else plain(str(cell)) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(heads, *cells, strict=True)]
    say(click.style(_line(heads, widths), bold=True))
    for row in cells:
        say(_line(row, widths))


def facts(pairs: Mapping[str, object]) -> None:
    """One fact per line, names in front; what is None is left out."""
    told = {name: plain(str(value)) for name, value in pairs.items() if value is not None}
    width = max(map(_width, told), default=0)
    for name, value in told.items():
        say(f"{click.style(_padded(name, width), bold=True)}{_GAP}{_coloured(value)}")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    *front, last = cells
    padded = [_padded(cell, width) for cell, width in zip(front, widths, strict=False)]
    return _GAP.join(_coloured(cell) for cell in [*padded, last])


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _coloured(cell: str) -> str:
    colour = _COLOUR_OF.get(cell.rstrip())
    return click.style(cell, fg=colour) if colour else cell


def _width(text: str) -> int:
    """On a terminal: some characters take two places, some none."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
