"""Flags for a job's fields. Each is named like the field that it sets, or says which."""

from collections.abc import Callable
from enum import Enum
from functools import reduce
from typing import Any, Final, TypeVar

import click

from lamplighter.cli.values import Document, Duration, Instant
from lamplighter.domain.policy import (
    CatchUp,
    DayMatch,
    DstGap,
    DstOverlap,
    OnAmbiguous,
    Overlap,
    ScheduleType,
    TriggerRule,
)

F = TypeVar("F", bound=Callable[..., Any])
Option = Callable[[Any], Any]


def words(kind: type[Enum]) -> click.Choice[str]:
    return click.Choice([str(each.value) for each in kind], case_sensitive=False)


def flags(options: tuple[Option, ...]) -> Callable[[F], F]:
    """Several options as one decorator, shown in this order."""
    return lambda command: reduce(lambda made, option: option(made), reversed(options), command)


def _text(flag: str, word: str, says: str, *field: str) -> Option:
    return click.option(flag, *field, metavar=word, help=says)


def _texts(flag: str, word: str, says: str, *field: str) -> Option:
    return click.option(flag, *field, metavar=word, multiple=True, help=f"{says} May be repeated.")


def _typed(flag: str, kind: Any, says: str, *field: str) -> Option:
    return click.option(flag, *field, type=kind, help=says)


SCHEDULE: Final[tuple[Option, ...]] = (
    _text("--cron", "EXPR", "Five fields, or six with seconds first.", "cron_expression"),
    _typed("--every", Duration(), "A fire per interval: 30s, 5m, 1h30m.", "interval_seconds"),
    _typed("--at", Instant(), "Once, at this time.", "schedule_time"),
    _typed("--in", Duration(), "Once, so long from now: 5m.", "in_seconds"),
    _typed("--type", words(ScheduleType), "Where the others leave it open.", "schedule_type"),
    _text("--timezone", "ZONE", "An IANA name; UTC if left out."),
    _typed("--start-at", Instant(), "No fire before it."),
    _typed("--end-at", Instant(), "No fire after it."),
    _typed("--jitter", Duration(), "Delay starts by up to this.", "jitter_seconds"),
    _typed("--dst-gap", words(DstGap), "For wall times that the clock jumps over."),
    _typed("--dst-overlap", words(DstOverlap), "For wall times that come twice."),
    _typed("--day-match", words(DayMatch), "Whether both day fields of a cron must match."),
    _texts("--exclude-calendar", "NAME", "No fire on its days."),
    _texts("--only-calendar", "NAME", "Fires on its days only."),
    _typed("--catch-up", words(CatchUp), "Which of the fires that were missed to make up."),
    _typed("--catch-up-window", Duration(), "How far back to make them up."),
    _typed("--catch-up-limit", int, "How many to make up at most."),
)

JOB: Final[tuple[Option, ...]] = (
    _text("--name", "NAME", "For people."),
    _text("--command", "LINE", "Run a line for the shell."),
    _text("--python", "HANDLER", "Call a registered handler: builtin.echo."),
    _text("--http", "URL", "Call a webhook."),
    _typed("--target", Document(), "Any other target, whole, or @file."),
    _typed("--payload", Document(), "For the target, or @file."),
    _typed("--priority", int, "1, most urgent, to 10."),
    _text("--pool", "POOL", "Whose workers run it."),
    _texts("--fan-out", "POOL", "One run in this pool, and none in --pool."),
    _typed("--retries", int, "Further attempts after the first.", "max_retries"),
    _typed("--backoff", Document(), 'As in the API: {"base_seconds": 1, "factor": 2}.'),
    _typed("--timeout", Duration(), "End a run that takes longer.", "timeout_seconds"),
    _typed("--start-deadline", Duration(), "Skip a run that is so late.", "start_deadline_seconds"),
    _typed("--expires-at", Instant(), "No run starts from then on."),
    _typed("--overlap", words(Overlap), "When the run before still runs."),
    _text("--ordering-key", "KEY", "Runs of one key go one after the other."),
    _typed("--max-concurrency", int, "So many runs at once."),
    _text("--concurrency-key", "KEY", "Jobs of one key share that limit."),
    _texts("--after", "JOB", "Run after this job."),
    _typed("--trigger-rule", words(TriggerRule), "How those before it must have ended."),
    _typed("--blocked", Duration(), "How long to wait for them.", "blocked_seconds"),
    _typed("--on-ambiguous", words(OnAmbiguous), "When its worker fell silent."),
    click.option("--critical", is_flag=True, default=None, help="Alert somebody when it fails."),
    _texts("--tag", "WORD", "A word to find it by.", "tags"),
    _typed("--metadata", Document(), "An object of your own, or @file."),
    _typed("--items", Document(), "A list, or @file: one job per item."),
)
