"""`lamplighter ps`: what runs in a data folder."""

import os
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec

from infra.local.embedded import shown
from infra.local.folder import alive
from infra.local.state import ComponentState, ServiceState, StackState, read_state
from lamplighter.domain.errors import LamplighterError
from lamplighter.settings import load


@click.command()
@click.option(
    "--data", type=click.Path(file_okay=False), help="The data folder that `up` was given."
)
@click.option("--json", "as_json", is_flag=True, help="For programs; with the services' passwords.")
def ps(data: str | None, as_json: bool) -> None:  # noqa: FBT001 - click's
    """Show what runs here: components, services, and their processes."""
    try:
        folder = Path(data or load(os.environ).data_dir)
    except LamplighterError as problem:
        raise click.ClickException(str(problem)) from problem
    state = read_state(folder)
    if as_json:
        click.echo(_json(state))
    elif state:
        for line in _table(state):
            click.echo(line)
    if not state:
        raise click.ClickException(
            f"not running: nothing uses {folder}. Start it with: lamplighter up --data {folder}"
        )


def _json(state: StackState | None) -> bytes:
    told = msgspec.to_builtins(state) if state else {"components": [], "services": []}
    return msgspec.json.format(msgspec.json.encode({"running": state is not None, **told}))


def _table(state: StackState) -> list[str]:
    return [
        f"{state.url}  (process {state.pid})",
        *(_component(each) for each in state.components),
        *(_service(each) for each in state.services),
    ]


def _component(component: ComponentState) -> str:
    lived = datetime.now(UTC) - component.since
    again = f", restarted {component.restarts}x" if component.restarts else ""
    detail = f"{_process(component.pid)}  for {_rounded(lived.total_seconds())}{again}"
    return f"  {component.name:<12} {detail}"


def _service(service: ServiceState) -> str:
    process = f"{'given':<15}" if service.given else _process(service.pid)
    return f"  {service.name:<12} {process}  {shown(service.url)}"


def _process(pid: int | None) -> str:
    return f"process {pid:<7}" if pid and alive(pid) else f"{'down':<15}"


def _rounded(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
