"""The one error that a service on this machine raises, and what it says."""

from collections import deque
from pathlib import Path

from lamplighter.domain.errors import LamplighterError

TAIL_LINES = 20


class ServiceFailed(LamplighterError):
    """A local service did not start, or may not start here; the text says what to do."""


def with_tail(problem: str, log: Path) -> ServiceFailed:
    """The problem, then the last lines of the log: almost always, they name the cause."""
    return ServiceFailed(f"{problem}\nThe end of {log}:\n{tail(log)}")


def tail(log: Path) -> str:
    """The last lines of a log, indented so that they stand apart from our own words."""
    try:
        with log.open(encoding="utf-8", errors="replace") as lines:
            last = deque(lines, maxlen=TAIL_LINES)
    except FileNotFoundError:
        last = deque()
    return "".join(f"    {line.rstrip()}\n" for line in last) or "    (it is empty)\n"
