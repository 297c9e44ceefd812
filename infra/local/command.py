"""`lamplighter up`. Registered in pyproject.toml, so that the command line need not know infra."""

import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

import click
import msgspec

from infra.local.stack import Stack
from lamplighter.domain.errors import LamplighterError
from lamplighter.settings import Bus, InvalidSettings, Settings, load

CHECK_SECONDS: Final = 0.2
PORT: Final = 8080
_PORTS: Final = click.IntRange(0, 65535)
# Those that run on one machine.
_BUSES: Final = (Bus.STREAMS.value, Bus.KAFKA.value)
_HERE: Final = " or ".join(_BUSES)


@click.command()
@click.option("--port", type=_PORTS, default=PORT, show_default=True, help="0 picks a free one.")
@click.option("--bus", type=click.Choice(_BUSES), help="What carries messages.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Of each pool."
)
@click.option(
    "--data", type=click.Path(file_okay=False), help="Where the services keep their data."
)
def up(port: int, bus: str | None, workers: int, data: str | None) -> None:
    """Start everything on this machine, and wait for Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        _run(_settings(bus, data), port, workers)
    except KeyboardInterrupt:
        _say("Everything is stopped.")
    except LamplighterError as problem:
        raise click.ClickException(str(problem)) from problem


def _run(settings: Settings, port: int, workers: int) -> None:
    began = time.monotonic()
    with Stack(settings, port=port, workers=workers, say=_say) as stack:
        stack.start()
        _welcome(stack.url, settings.data_dir, time.monotonic() - began)
        while True:
            stack.look_after()
            time.sleep(CHECK_SECONDS)


def _welcome(url: str, data: str, seconds: float) -> None:
    _say(f"Lamplighter is up after {seconds:.1f} s: {click.style(url, bold=True)}")
    _say(f"Data, logs and passwords are in {data}. Ctrl-C stops everything. Try, elsewhere:")
    body = """'{"name": "hello", "payload": {"to": "world"}}'"""
    _say(f"  curl {url}/jobs -H 'content-type: application/json' -d {body}")
    _say(f"  {_program()} submit --name hello --command 'echo hello world' --wait{_option(data)}")


def _program() -> str:
    """How the reader can call it: by its name, or by the way to the one that runs here."""
    name = "lamplighter"
    if shutil.which(name):
        return name
    here = Path(sys.argv[0])
    if here.name != name:  # `python -m`, a test
        here = Path(sys.executable).with_name(name)
    return shlex.quote(os.path.relpath(here))


def _option(data: str) -> str:
    """What leads other commands to this stack; they look in the usual folder by themselves."""
    return "" if data == Settings().data_dir else f" --data {shlex.quote(data)}"


def _settings(bus: str | None, data: str | None) -> Settings:
    """The environment's settings, and over them what was typed."""
    typed = {"bus": Bus(bus) if bus else None, "data_dir": data}
    given = {name: value for name, value in typed.items() if value}
    settings = msgspec.structs.replace(load(os.environ), **given)
    if settings.bus not in _BUSES:
        raise InvalidSettings(f"LAMPLIGHTER_BUS: {settings.bus} is for AWS. Here: {_HERE}.")
    return settings


def _say(line: str) -> None:
    # Click itself drops colours where nobody looks on.
    click.echo(line, color=False if os.environ.get("NO_COLOR") else None)


def _leave(*_: object) -> NoReturn:
    """The first signal ends the wait; later ones must not break the stopping that it began."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
