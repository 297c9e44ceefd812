"""`redrive`: dead letters go back to where they came from. Needs the bus itself, not the API."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from lamplighter.cli.session import shown_local
from lamplighter.cli.stack import use_stack
from lamplighter.cli.tables import say, say_json, shorten, table
from lamplighter.domain.errors import LamplighterError

if TYPE_CHECKING:
    from lamplighter.contracts.dead_letters import DeadLetter
    from lamplighter.ports.bus import Bus

_HEADS = ("DIED", "TOPIC", "KEY", "BYTES", "FUNCTION", "FATE", "WHY")
_WHY_CHARACTERS = 60


@click.command()
@click.option("--topic", help="Those that came from this topic only.")
@click.option("--limit", type=click.IntRange(min=1), help="So many at most, the oldest first.")
@click.option("--list", "--dry-run", "list_only", is_flag=True, help="Only show them.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.option("--data", metavar="DIR", help="Data folder of a running stack, to find its bus in.")
def redrive(
    topic: str | None, limit: int | None, *, list_only: bool, as_json: bool, data: str | None
) -> None:
    """Give dead letters back to the topics that they came from.

    At least once: one may come twice. Those that are not asked for stay dead; where they lie
    before one that is, they move to the end of the topic.
    """
    use_stack(data)
    try:
        told = list(_told(topic, limit, list_only=list_only))
    except LamplighterError as problem:
        raise click.ClickException(str(problem)) from problem
    if as_json:
        say_json(told)
    else:
        _show(told, list_only=list_only)


def _told(topic: str | None, limit: int | None, *, list_only: bool) -> Iterator[dict[str, Any]]:
    from lamplighter import wiring
    from lamplighter.stages import redrive as stage

    _check_topic(topic)
    bus: Bus = wiring.bus()
    if list_only:
        for letter in stage.dead_letters(bus, topic, limit):
            yield _line(letter, "dead")
        return
    for done in stage.redrive(bus, topic, limit):
        yield _line(done.letter, done.fate.value)


def _check_topic(topic: str | None) -> None:
    """A misspelt one would find nothing, which looks like good news."""
    from lamplighter import wiring
    from lamplighter.contracts.topics import all_topics

    known = [each.name for each in all_topics(wiring.settings().windows())]
    # A pool that is gone may have left letters behind.
    if topic is not None and topic not in known and not topic.startswith("job-runs."):
        said = f"there is no topic {topic!r}; there are {', '.join(known)}"
        raise click.BadParameter(said, param_hint="--topic")


def _line(letter: "DeadLetter", fate: str) -> dict[str, Any]:
    """Without the message itself: it may be large, and is nobody's to read."""
    from lamplighter.contracts.answers import shown_instant

    return {
        "at": shown_instant(letter.at),
        "topic": letter.topic,
        "partition": letter.partition,
        "offset": letter.offset,
        "key": None if letter.key is None else letter.key.decode(errors="replace"),
        "bytes": len(letter.value),
        "function": letter.function,
        "why": letter.why,
        "fate": fate,
    }


def _show(told: list[dict[str, Any]], *, list_only: bool) -> None:
    if not told:
        say("There are no dead letters.", err=True)
        return
    table(_HEADS, [_row(each) for each in told])
    counts = Counter(each["fate"] for each in told)
    if not list_only:
        say(", ".join(f"{count} {fate}" for fate, count in counts.items()), err=True)


def _row(line: dict[str, Any]) -> tuple[object, ...]:
    at = shown_local(datetime.fromisoformat(line["at"]).astimezone())
    why = shorten(line["why"], _WHY_CHARACTERS)
    key = shorten(line["key"] or "", 36)
    return at, line["topic"], key, line["bytes"], line["function"], line["fate"], why
