"""`lamplighter`: one command group, filled by whoever registered a command."""

from importlib.metadata import EntryPoint, entry_points

import click

COMMANDS = "lamplighter.commands"


class Registered(click.Group):
    """A group whose commands come from the entry points named `lamplighter.commands`.

    The command line must not import infra (infra imports the command line), so `up` and its kin
    are found by name when they are asked for, and not one moment earlier: `--help` of one command
    never pays for the imports of another.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Own commands and registered ones, in alphabetical order."""
        return sorted({*super().list_commands(ctx), *_registered()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command itself; None lets click say that there is none of that name."""
        if own := super().get_command(ctx, cmd_name):
            return own
        found = _registered().get(cmd_name)
        return _load(found) if found else None


def _registered() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=COMMANDS)}


def _load(point: EntryPoint) -> click.Command | None:
    try:
        command = point.load()
    except ModuleNotFoundError as missing:
        # Only the registering package itself may be absent; any other gap is a broken install.
        if not point.module.startswith(missing.name or "?"):
            raise
        return None
    if not isinstance(command, click.Command):
        raise TypeError(f"{point.value} is registered as a command but is not one")
    return command


@click.group(cls=Registered, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lamplighter")
def main() -> None:
    """Lamplighter lights a job when its time has come."""


@main.command()
def settings() -> None:
    """Print every setting as the page docs/settings.md."""
    from lamplighter.settings import as_markdown

    click.echo(as_markdown(), nl=False)
