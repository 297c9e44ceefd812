"""`stack.json`: what runs in a data folder, for `lamplighter ps` and for other programs."""

from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from infra.local.folder import is_taken, write_private

FILE: Final = "stack.json"


class ComponentState(msgspec.Struct, frozen=True):
    """`pid` is null while it is down and about to be started again."""

    name: str
    pid: int | None
    restarts: int
    since: datetime


class ServiceState(msgspec.Struct, frozen=True):
    """`pid` is null for one that was given, and is not ours, or that is down, and started again."""

    name: str
    url: str
    pid: int | None
    given: bool = False


class StackState(msgspec.Struct, frozen=True):
    """The file holds passwords, and only its owner may read it."""

    url: str
    pid: int
    components: list[ComponentState]
    services: list[ServiceState]


def write_state(folder: Path, state: StackState) -> None:
    write_private(folder / FILE, msgspec.json.encode(state).decode())


def remove_state(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


def read_state(folder: Path) -> StackState | None:
    """What runs there now; None where nothing does, also when a dead one left its file behind."""
    try:
        written = (folder / FILE).read_bytes()
    except FileNotFoundError:
        return None
    state = msgspec.json.decode(written, type=StackState)
    return state if is_taken(folder, state.pid) else None
