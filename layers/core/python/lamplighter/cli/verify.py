"""`verify`: prove from the ledger that every promise was kept, or say which was not."""

import os
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click
import msgspec

from lamplighter.cli.stack import DEFAULT_DATA, read_stack
from lamplighter.cli.tables import facts, say, say_json, table
from lamplighter.cli.values import Duration

if TYPE_CHECKING:
    from lamplighter.ports.ledger_history import LedgerHistory
    from lamplighter.stages.verify import Percentiles, Report

FOUND: Final = 1
_SHOWN_FINDINGS: Final = 20
_VARIABLE: Final = "LAMPLIGHTER_DATABASE_URL"


class NotChecked(click.ClickException):
    """Neither kept nor broken: nobody could look."""

    exit_code: ClassVar[int] = 2


class Moment(click.ParamType[datetime | timedelta]):
    """An instant, or how long ago it was."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | timedelta:
        try:
            instant = datetime.fromisoformat(str(value).upper())
        except ValueError:
            return self._ago(value, param, ctx)
        if instant.tzinfo is None:
            self.fail(f"{value!r} has no offset; add one, or Z", param, ctx)
        return instant.astimezone(UTC)

    def _ago(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        try:
            return timedelta(seconds=Duration().convert(value, param, ctx))
        except click.BadParameter:
            hint = "write 2030-01-31T09:30:00Z, or how long ago, as 90s, 5m, 1h30m"
            self.fail(f"{value!r} is neither a time nor a duration; {hint}", param, ctx)


class Asked(msgspec.Struct, frozen=True):
    since: datetime | timedelta
    until: datetime | timedelta
    tenant: str | None
    grace: timedelta


@click.command()
@click.option("--since", type=Moment(), default="1h", show_default=True, help="From which fire on.")
@click.option("--until", type=Moment(), default="0s", help="Up to which fire; now, if left out.")
@click.option("--tenant", help="This tenant's jobs only.")
@click.option("--grace", type=Duration(), default="5m", show_default=True, help="Later is stuck.")
@click.option("--database-url", metavar="URL", help=f"The ledger. Else {_VARIABLE}.")
@click.option(
    "--data", metavar="DIR", help="Data folder of a running stack, to find its ledger in."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def verify(  # noqa: PLR0913 - one for each option
    ctx: click.Context,
    *,
    since: datetime | timedelta,
    until: datetime | timedelta,
    tenant: str | None,
    grace: float,
    database_url: str | None,
    data: str | None,
    as_json: bool,
) -> None:
    """Prove from the ledger that all fires ran as promised.

    Exits with 1 where something was found, and with 2 where nobody could look.
    """
    asked = Asked(since, until, tenant, timedelta(seconds=grace))
    report = _read(_url(database_url, data), asked)
    if as_json:
        say_json({"ok": report.found == 0, **msgspec.to_builtins(report)})
    else:
        _show(report)
    ctx.exit(FOUND if report.found else 0)


def _url(typed: str | None, data: str | None) -> str:
    """What was typed, else the folder that was typed, else the variable, else the usual folder."""
    if found := typed or (None if data else os.environ.get(_VARIABLE)):
        return found
    stack = read_stack(data)
    found = None if stack is None else stack.settings().get(_VARIABLE)
    if found is None:
        raise NotChecked(
            f"No stack runs in {data or DEFAULT_DATA}. Name the ledger with --database-url or "
            f"{_VARIABLE}, or the folder of a running stack with --data."
        )
    return found


def _read(url: str, asked: Asked) -> "Report":
    # The driver takes longer to import than all the rest: `--help` does not wait for it.
    import psycopg

    from lamplighter import wiring
    from lamplighter.adapters.postgres.database import Database
    from lamplighter.adapters.postgres.history import PostgresHistory
    from lamplighter.domain.errors import LedgerUnavailable
    from lamplighter.settings import InvalidSettings

    try:
        database = Database(wiring.address(url), max_size=1)
    except InvalidSettings as problem:
        raise NotChecked(str(problem)) from problem
    try:
        return PostgresHistory(database).read(lambda history: _verified(history, asked))
    except (LedgerUnavailable, psycopg.Error) as problem:
        raise NotChecked(f"The ledger cannot be read: {problem}") from problem
    finally:
        database.close()


def _verified(history: "LedgerHistory", asked: Asked) -> "Report":
    from lamplighter.stages.verify import verify as check

    since, until = (_at(moment, history.now()) for moment in (asked.since, asked.until))
    return check(history, since, until, tenant=asked.tenant, grace=asked.grace)


def _at(moment: datetime | timedelta, now: datetime) -> datetime:
    return now - moment if isinstance(moment, timedelta) else moment


def _show(report: "Report") -> None:
    rules = [(each.rule.replace("_", " "), each.checked, each.found) for each in report.rules]
    table(("RULE", "CHECKED", "FOUND"), rules)
    say()
    for finding in report.findings[:_SHOWN_FINDINGS]:
        run = f" run {finding.run_id}" if finding.run_id else ""
        say(f"{finding.rule.replace('_', ' ')}: job {finding.job_id}{run}: {finding.text}.")
    if report.found > _SHOWN_FINDINGS:
        say(f"… and {report.found - _SHOWN_FINDINGS:,} more; --json has the first of each rule.")
    if report.findings:
        say()
    facts(
        {
            "fires": f"{report.since.isoformat()} to {report.until.isoformat()}",
            "looked at": f"{report.jobs:,} jobs, {report.runs:,} runs",
            "started late by": _spread(report.lateness),
            "excused": _spread(report.excused),
            "verdict": f"{report.found:,} findings" if report.found else "every promise was kept",
        }
    )


def _spread(late: "Percentiles") -> str:
    if late.p50 is None:
        return "nothing started"
    spread = f"p50 {late.p50:,.0f} ms, p99 {late.p99:,.0f} ms, max {late.max:,.0f} ms"
    return f"{spread} ({late.runs:,} runs)"
