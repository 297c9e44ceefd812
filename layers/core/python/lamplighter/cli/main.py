"""`lamplighter`: one command group, filled by name when a command is asked for."""

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Final, NamedTuple

import click

COMMANDS: Final = "lamplighter.commands"


class Own(NamedTuple):
    """Where a command is, and its line in the list of all: that must not cost its imports."""

    place: str
    summary: str


_EXPLAIN: Final = "Say in one sentence why a job or run has not run, will not run, or ran late."

OWN: Final = {
    "bench": Own("bench:bench", "Measure this machine with a benchmark, in a checkout."),
    "cancel": Own("change:cancel", "Cancel a job and all of its runs, or one run."),
    "explain": Own("look:explain", _EXPLAIN),
    "keys": Own("keys:keys", "Make, list and revoke the API's keys."),
    "list": Own("look:list_jobs", "List jobs, newest first but for those with a key."),
    "logs": Own("logs:logs", "Print what a run printed; of a job, its latest run."),
    "pause": Own("change:pause", "Skip a job's fires until it is resumed."),
    "preview": Own(
        "preview:preview",
        "Show when a schedule would fire, and what changes of the clock do to it.",
    ),
    "redrive": Own("redrive:redrive", "Give dead letters back to the topics that they came from."),
    "resume": Own("change:resume", "Undo a pause; what was skipped stays skipped."),
    "run-now": Own("change:run_now", "Run a job now, beside its schedule."),
    "runs": Own("look:runs", "List runs, latest fire first; of one job, or of all."),
    "settings": Own("settings:settings", "Print every setting as the page docs/settings.md."),
    "show": Own("look:show", "Show a job whole, with its latest run; or a run."),
    "submit": Own("submit:submit", "Submit a job."),
    "verify": Own("verify:verify", "Prove from the ledger that all fires ran as promised."),
}
# Of commands that others register, the same: to list them all must not start a stack's imports.
SUMMARIES: Final = {
    "deploy": "Deploy into the AWS account that your credentials are for.",
    "ps": "Show what runs here: components, services, and their processes.",
    "up": "Start everything on this machine, and wait for Ctrl-C.",
}


class Commands(click.Group):
    """Own commands, and those of the entry points named `lamplighter.commands`.

    The command line must not import infra (infra imports the command line), so `up` and its kin
    are found by name when they are asked for, and not one moment earlier: `--help` of one command
    never pays for the imports of another.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Own commands and registered ones, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *OWN, *_registered()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command itself; None lets click say that there is none of that name."""
        if own := OWN.get(cmd_name):
            module, _, name = own.place.partition(":")
            return _command(getattr(import_module(f"lamplighter.cli.{module}"), name), own.place)
        found = _registered().get(cmd_name)
        return _load(found) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in `--help`."""
        lines = [
            (name, text) for name in self.list_commands(ctx) if (text := self._line(ctx, name))
        ]
        with formatter.section("Commands"):
            formatter.write_dl(lines)

    def _line(self, ctx: click.Context, name: str) -> str | None:
        if own := OWN.get(name):
            return own.summary
        if name in SUMMARIES and _is_shipped(_registered()[name]):
            return SUMMARIES[name]
        command = self.get_command(ctx, name)
        return command.get_short_help_str() if command else None


def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=COMMANDS)}


def _load(point: EntryPoint) -> click.Command | None:
    try:
        return _command(point.load(), point.value)
    except ModuleNotFoundError as missing:
        # Only the registering package itself may be absent; any other gap is a broken install.
        if not point.module.startswith(missing.name or "?"):
            raise
        return None


def _command(found: object, place: str) -> click.Command:
    if not isinstance(found, click.Command):
        raise TypeError(f"{place} is registered as a command but is not one")
    return found


def _is_shipped(point: EntryPoint) -> bool:
    try:
        return find_spec(point.module) is not None
    except ModuleNotFoundError:
        return False


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lamplighter")
def main() -> None:
    """Lamplighter lights a job when its time has come."""
