"""What `lamplighter up` says: one line per part, aligned, in colours where a person looks on."""

from collections.abc import Callable
from typing import Final

import click

Say = Callable[[str], None]

_WIDTH: Final = 12


def ready(name: str, seconds: float, what: str) -> str:
    return _line(name, click.style("ready", fg="green") + f" in {seconds:4.1f} s  {what}")


def given(name: str, url: str) -> str:
    return _line(name, click.style("given", fg="cyan") + f"           {url}")


def stopped(name: str) -> str:
    return _line(name, click.style("stopped", dim=True))


def died(name: str, how: str, lived: float, again: float) -> str:
    what = click.style(how, fg="red")
    return _line(name, f"{what} after {lived:.1f} s; starts again in {again:.1f} s")


def failed(name: str, problem: str, again: float) -> str:
    """`problem` ends with the tail of a log, and so with a line break."""
    what = click.style("failed", fg="red")
    return _line(name, f"{what}; tried again in {again:.1f} s. {problem.rstrip()}")


def back(name: str, restarts: int, pid: int) -> str:
    times = "once" if restarts == 1 else f"{restarts} times"
    return _line(name, click.style("back", fg="yellow") + f", process {pid}; restarted {times}")


def _line(name: str, what: str) -> str:
    return f"  {name:<{_WIDTH}} {what}"
