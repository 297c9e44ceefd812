"""The body that a job's flags make."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import click

from lamplighter.cli.session import now
from lamplighter.cli.values import after, as_rfc3339

_ONE_TARGET: Final = "--command, --python, --http or --target"


def body_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """A body with what was said, and nothing else."""
    said = {name: value for name, value in given.items() if value is not None and value != ()}
    zone = said.get("timezone")
    _put_together(said)
    return {name: _shown(value, zone) for name, value in said.items()}


def _put_together(said: dict[str, Any]) -> None:
    if (seconds := said.pop("in_seconds", None)) is not None:
        _set_once(said, "schedule_time", after(seconds, now()), "--at or --in")
    dst = _parts(said, {"dst_gap": "gap", "dst_overlap": "overlap"})
    calendar = _parts(said, {"exclude_calendar": "exclude", "only_calendar": "only"})
    catch_up = _parts(
        said,
        {"catch_up": "policy", "catch_up_window": "window_seconds", "catch_up_limit": "limit"},
    )
    whole = {"dst": dst, "calendar": calendar, "catch_up": catch_up}
    said.update({name: value for name, value in whole.items() if value})
    _choose_target(said)


def _choose_target(said: dict[str, Any]) -> None:
    if (handler := said.pop("python", None)) is not None:
        _set_once(said, "target", {"type": "python", "handler": handler}, _ONE_TARGET)
    if (url := said.pop("http", None)) is not None:
        _set_once(said, "target", {"type": "http", "url": url}, _ONE_TARGET)
    if "command" in said and "target" in said:
        raise click.UsageError(f"Give one of {_ONE_TARGET}.")


def _set_once(said: dict[str, Any], field: str, value: Any, choice: str) -> None:
    if field in said:
        raise click.UsageError(f"Give one of {choice}.")
    said[field] = value


def _parts(said: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {field: said.pop(flag) for flag, field in names.items() if flag in said}


def _shown(value: Any, zone: str | None) -> Any:
    return as_rfc3339(value, zone) if isinstance(value, datetime) else value
