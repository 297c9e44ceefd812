"""What every command that asks the API has in common: where to ask, and how to show it."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any, TypeVar

import click
import msgspec

from lamplighter.cli.api import Answer, Api, Refused
from lamplighter.cli.stack import api_url

F = TypeVar("F", bound=Callable[..., Any])


class Session(msgspec.Struct, frozen=True):
    """One invocation: the API, whether a program reads the answer, and whose clock is shown."""

    api: Api
    json: bool
    utc: bool

    def instant(self, text: str | None) -> str | None:
        """The machine's own time with its offset; with --utc as the API writes it."""
        if text is None or self.utc:
            return text
        return shown_local(datetime.fromisoformat(text).astimezone())

    def job_or_run(
        self, target: str, ask_job: Callable[[str], Answer], ask_run: Callable[[str], Answer]
    ) -> Answer:
        """An id says not what it is of: ask for the job, and where there is none for the run."""
        try:
            return ask_job(f"/jobs/{target}")
        except Refused as refused:
            if refused.code != "job_not_found":
                raise
        try:
            return ask_run(f"/runs/{target}")
        except Refused as refused:
            if refused.code != "run_not_found":
                raise
            raise Refused(f"There is no job and no run {target}.", "not_found") from None


def shown_local(at: datetime) -> str:
    """To the second; where there are milliseconds, with them."""
    precision = "milliseconds" if at.microsecond else "seconds"
    return at.isoformat(sep=" ", timespec=precision)


def now() -> datetime:
    return datetime.now(UTC)


def asks(command: F) -> F:
    """Add --url, --data, --json and --utc; the command gets a Session instead."""

    @click.option("--url", metavar="URL", help="Where the API is. Else LAMPLIGHTER_URL.")
    @click.option(
        "--data", metavar="DIR", help="Data folder of a running stack, to find its API in."
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the API's answer as JSON.")
    @click.option("--utc", is_flag=True, help="Show times in UTC, not in this machine's zone.")
    @wraps(command)
    def with_session(
        *args: Any, url: str | None, data: str | None, as_json: bool, utc: bool, **kwargs: Any
    ) -> Any:
        key = os.environ.get("LAMPLIGHTER_API_KEY")
        session = Session(Api(api_url(url, data), key), as_json, utc)
        return command(session, *args, **kwargs)

    return with_session  # type: ignore[return-value]


class Id(click.ParamType[str]):
    """An id as part of a path: nothing in it leads elsewhere."""

    name = "id"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value or not all(c.isalnum() or c == "-" for c in value) or not value.isascii():
            self.fail(f"{value!r} is no id; ids are UUIDs", param, ctx)
        return value
