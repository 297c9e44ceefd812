"""What a stack on this machine says about itself, and where the API is."""

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Final

import click
import msgspec

DEFAULT_URL: Final = "http://127.0.0.1:8080"
DEFAULT_DATA: Final = ".lamplighter"
STATE_FILE: Final = "stack.json"
_VARIABLE_OF: Final = {
    "postgres": "LAMPLIGHTER_DATABASE_URL",
    "valkey": "LAMPLIGHTER_VALKEY_URL",
    "kafka": "LAMPLIGHTER_KAFKA_BOOTSTRAP_SERVERS",
}


class Service(msgspec.Struct, frozen=True):
    name: str
    url: str


class Stack(msgspec.Struct, frozen=True):
    """As much of `stack.json` as is read here."""

    url: str
    services: tuple[Service, ...] = ()

    def settings(self) -> dict[str, str]:
        """The variables that lead a process to this stack's services."""
        found = {
            _VARIABLE_OF[each.name]: each.url for each in self.services if each.name in _VARIABLE_OF
        }
        has_kafka = any(each.name == "kafka" for each in self.services)
        return found | {"LAMPLIGHTER_BUS": "kafka" if has_kafka else "streams"}


def read_stack(data: str | None, environment: Mapping[str, str] = os.environ) -> Stack | None:
    """The stack that runs over this data folder; None where there is none."""
    folder = Path(data or environment.get("LAMPLIGHTER_DATA_DIR") or DEFAULT_DATA)
    try:
        return msgspec.json.decode((folder / STATE_FILE).read_bytes(), type=Stack)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        raise click.ClickException(f"cannot read {folder / STATE_FILE}: {problem}") from None


def api_url(
    typed: str | None, data: str | None, environment: Mapping[str, str] = os.environ
) -> str:
    """What was typed, else the variable, else the stack's, else where a stack usually is.

    A folder that was typed decides, too: who means that stack is led to no other.
    """
    if typed:
        return typed
    if data is not None:
        return _stack_in(data, environment).url
    if found := environment.get("LAMPLIGHTER_URL"):
        return found
    stack = read_stack(None, environment)
    return stack.url if stack else DEFAULT_URL


def use_stack(data: str | None, environment: MutableMapping[str, str] = os.environ) -> None:
    """Give this process the settings of a local stack; for commands that reach for a service.

    A folder that was typed decides. Else a deployment's variables do: whoever names one service
    means that deployment, and gets none of this machine's mixed in.
    """
    if data is None and any(variable in environment for variable in _VARIABLE_OF.values()):
        return
    stack = read_stack(None, environment) if data is None else _stack_in(data, environment)
    if stack is not None:
        environment.update(stack.settings())


def _stack_in(data: str, environment: Mapping[str, str]) -> Stack:
    stack = read_stack(data, environment)
    if stack is None:
        raise click.ClickException(f"No stack runs in {data}. `lamplighter up --data {data}` does.")
    return stack
