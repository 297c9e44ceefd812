"""One component of the local stack, as a process of its own.

    python -m infra.local.component NAME [--ready FILE] [--port PORT]

NAME is a kind of component, with a number behind it where there are several (`executor-2`). The
file is made once the component is set up. SIGTERM ends it.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NoReturn

from lamplighter.settings import load
from lamplighter.telemetry.logs import write_text

# From SIGTERM to SIGKILL; a component that stops in an orderly way wants less.
GRACE_SECONDS: Final = 12.0
_ORDERLY_SECONDS: Final = 8.0
# How long a thread may keep the others of its process waiting. The usual 5 ms are much to one that
# has a single run to start, beside others that have thousands.
_SWITCH_SECONDS: Final = 0.001

Ready = Callable[[], None]


def main(arguments: list[str]) -> None:
    asked = _asked(arguments)
    write_text(load(os.environ).log_level)
    signal.signal(signal.SIGTERM, _leave)
    sys.setswitchinterval(_SWITCH_SECONDS)
    KINDS[kind_of(asked.name)](asked, lambda: _make(asked.ready))


def kind_of(name: str) -> str:
    """`executor` for `executor-2`."""
    return name.partition("-")[0]


def _number(name: str) -> int:
    """2 for `executor-2`."""
    number = name.rpartition("-")[2]
    return int(number) if number.isdecimal() else 1


def _asked(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m infra.local.component")
    parser.add_argument("name", help=f"one of {', '.join(KINDS)}; -1, -2 may follow")
    parser.add_argument("--ready", type=Path, help="made when the component is set up")
    parser.add_argument("--port", type=int, help="where the gateway listens")
    asked = parser.parse_args(arguments)
    if kind_of(asked.name) not in KINDS:
        parser.error(f"there is no component {asked.name!r}")
    return asked


def _make(mark: Path | None) -> None:
    if mark:
        mark.touch(mode=0o600)


def _leave(*_: object) -> NoReturn:
    """For whoever has no better answer to SIGTERM."""
    sys.exit(0)


# Imported by the process that needs it, and by no other: each is small, and starts quickly.


def _gateway(asked: argparse.Namespace, ready: Ready) -> None:
    from infra.local.gateway.server import main as serve

    ready()
    serve(asked.port)


def _watcher(_: argparse.Namespace, ready: Ready) -> None:
    from infra.local.invoker import main as invoke

    ready()
    invoke()


def _mapping(asked: argparse.Namespace, ready: Ready) -> None:
    from infra.local.mapping import main as read

    read(kind_of(asked.name), ready, number=_number(asked.name))


def _worker(_: argparse.Namespace, ready: Ready) -> None:
    from functions.worker.handler import main as work

    ready()
    work(_ORDERLY_SECONDS)


KINDS: Final[Mapping[str, Callable[[argparse.Namespace, Ready], None]]] = {
    "gateway": _gateway,
    "watcher": _watcher,
    "executor": _mapping,
    "worker": _worker,
    "recorder": _mapping,
    "resolver": _mapping,
}


if __name__ == "__main__":
    main(sys.argv[1:])
