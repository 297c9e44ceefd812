"""`lamplighter up`. Registered in pyproject.toml, so that the command line need not know infra."""

import os
import signal
import time
from typing import Final, NoReturn

import click
import msgspec

from infra.local.stack import Stack
from lamplighter.domain.errors import LamplighterError
from lamplighter.settings import Bus, Settings, load

CHECK_SECONDS: Final = 0.5


@click.command()
@click.option("--bus", type=click.Choice([bus.value for bus in Bus]), help="What carries messages.")
@click.option(
    "--data", type=click.Path(file_okay=False), help="Where the services keep their data."
)
def up(bus: str | None, data: str | None) -> None:
    """Start every service on this machine, migrate, and wait for Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        _run(_settings(bus, data))
    except KeyboardInterrupt:
        click.echo("Everything is stopped.")
    except LamplighterError as problem:
        raise click.ClickException(str(problem)) from problem


def _run(settings: Settings) -> None:
    began = time.monotonic()
    with Stack(settings, say=click.echo) as stack:
        stack.start()
        click.echo(f"Lamplighter is up after {time.monotonic() - began:.1f} s. Ctrl-C stops it.")
        click.echo(f"Data, logs and passwords are in {settings.data_dir}.")
        while True:
            stack.check()
            time.sleep(CHECK_SECONDS)


def _settings(bus: str | None, data: str | None) -> Settings:
    """The environment's settings, and over them what was typed."""
    typed = {"bus": Bus(bus) if bus else None, "data_dir": data}
    given = {name: value for name, value in typed.items() if value}
    return msgspec.structs.replace(load(os.environ), **given)


def _leave(*_: object) -> NoReturn:
    """The first signal ends the wait; later ones must not break the stopping that it began."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
