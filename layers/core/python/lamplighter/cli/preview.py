"""`preview`: when a schedule would fire."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from lamplighter.cli.fields import body_of
from lamplighter.cli.flags import SCHEDULE, flags
from lamplighter.cli.session import Session, asks, shown_local
from lamplighter.cli.tables import plain, say, say_json, table
from lamplighter.cli.values import Instant, read_body


@click.command()
@click.option(
    "--file",
    metavar="FILE",
    help="The schedule's fields as JSON, - for standard input; flags go over it.",
)
@flags(SCHEDULE)
@click.option("--after", type=Instant(), help="Fires later than this; now, if left out.")
@click.option("--until", type=Instant(), help="None later than this.")
@click.option("--count", type=click.IntRange(1, 1000), help="How many; 10.")
@asks
def preview(session: Session, file: str | None, **given: Any) -> None:
    """Show when a schedule would fire, and what changes of the clock do to it.

    \b
      lamplighter preview --cron '30 2 * * *' --timezone Europe/Berlin --after 2026-03-28T00:00Z
    """  # noqa: D301 - click's own mark, which keeps lines apart, is that character
    body = read_body(file)
    if not isinstance(body, dict):
        raise click.BadParameter(f"{file} holds no object", param_hint="--file")
    body |= body_of(given)
    answer = session.api.post("/schedules/preview", body).body
    if session.json:
        say_json(answer)
        return
    _tell(session, answer, body.get("timezone") or "UTC")


def _tell(session: Session, answer: dict[str, Any], zone: str) -> None:
    if not answer["fires"]:
        say("It does not fire.", err=True)
        return
    fires = [(_wall(fire, zone), session.instant(fire)) for fire in answer["fires"]]
    table((zone, "UTC" if session.utc else "HERE"), fires)
    for transition in answer["transitions"]:
        say(plain(transition["sentence"]))


def _wall(fire: str, zone: str) -> str:
    """What the clock on the wall shows there, and the day: mistakes are mostly about days."""
    try:
        there = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return fire  # the API knows a zone that this machine does not
    at = datetime.fromisoformat(fire).astimezone(there)
    return f"{at:%a} {shown_local(at)}"
