"""What people type for times, durations and documents."""

import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_PART: Final = re.compile(r"(\d{1,10}(?:\.\d{1,9})?)(ms|s|m|h|d)")
_KEY_CHARACTERS: Final = 255


class Duration(click.ParamType[float | int]):
    """Seconds, from `90`, `90s`, `5m`, `1h30m` or `500ms`."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | int:
        text = str(value).strip().lower()
        text = f"{text}s" if text[-1:].isdigit() else text
        if not re.fullmatch(f"(?:{_PART.pattern})+", text):
            self.fail(f"{value!r} is no duration; write 90s, 5m, 1h30m or 500ms", param, ctx)
        seconds = sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(text))
        rounded = round(seconds, 3)
        return int(rounded) if rounded == int(rounded) else rounded


class Instant(click.ParamType[datetime]):
    """A time; one without an offset is meant in a zone that is known only later."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        try:
            return datetime.fromisoformat(str(value).strip().upper())
        except ValueError:
            hint = "write 2030-01-31T09:30, 2030-01-31T09:30:00Z or with an offset"
            self.fail(f"{value!r} is no time; {hint}", param, ctx)


class Document(click.ParamType[Any]):
    """JSON, or @file for what is in there, @- for what comes in."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        try:
            return json.loads(read_text(text[1:]) if text.startswith("@") else text)
        except OSError as problem:
            self.fail(f"cannot read {text[1:]}: {problem.strerror}", param, ctx)
        except ValueError as problem:
            self.fail(f"not JSON: {problem}", param, ctx)


def read_text(path: str) -> str:
    """Of a file, or of standard input where it is `-`."""
    return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")


class Key(click.ParamType[str]):
    """What a header can carry."""

    name = "key"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not (value.isascii() and value.isprintable() and 0 < len(value) <= _KEY_CHARACTERS):
            most = f"{_KEY_CHARACTERS} ASCII characters at most, none of them a control character"
            self.fail(f"{value!r} is no key; use {most}", param, ctx)
        return value


def as_rfc3339(at: datetime, timezone: str | None) -> str:
    """A time without an offset is in the job's zone, and where it names none in this machine's."""
    if at.tzinfo is not None:
        return at.isoformat()
    try:
        zone = None if timezone is None else ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        said = f"there is no time zone {timezone!r}"
        raise click.BadParameter(said, param_hint="--timezone") from None
    try:
        return (at.astimezone() if zone is None else at.replace(tzinfo=zone)).isoformat()
    except (OverflowError, ValueError, OSError):
        raise click.UsageError(f"{at.isoformat()} is too far away; give its offset") from None


def after(seconds: float, now: datetime) -> str:
    try:
        return (now + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")
    except OverflowError:
        raise click.BadParameter("no calendar goes that far", param_hint="--in") from None


def read_body(file: str | None) -> Any:
    """The object or list in a JSON file; an empty object where there is no file."""
    if file is None:
        return {}
    try:
        body = json.loads(read_text(file))
    except OSError as problem:
        problem_text = f"cannot read {file}: {problem.strerror}"
        raise click.BadParameter(problem_text, param_hint="--file") from None
    except ValueError as problem:
        raise click.BadParameter(f"{file} is not JSON: {problem}", param_hint="--file") from None
    if not isinstance(body, dict | list):
        raise click.BadParameter(f"{file} holds no object and no list", param_hint="--file")
    return body
