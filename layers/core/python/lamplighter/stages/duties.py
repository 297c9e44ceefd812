"""Duties: what a leader does, how often, and what it tells of it when its time is over."""

from collections.abc import Callable
from datetime import datetime

import msgspec


class Rhythm(msgspec.Struct, frozen=True):
    """How often, in seconds, each duty is done, where nothing asks for it earlier."""

    renew: float = 0.5
    look: float = 1.0  # what the ledger has on its agenda; whoever adds to it calls
    tick: float = 2.0  # though nothing is due: an emptied queue is noticed by that
    plan: float = 20.0
    load: float = 20.0
    sweep: float = 3.0  # for workers that are silent
    settle: float = (
        15.0  # what waits too long is on the agenda; slots that nobody handed on are not
    )
    follow_up: float = 10.0
    health: float = 30.0
    measure: float = 10.0
    tend: float = 3600.0


class Report(msgspec.Struct):
    """What a watcher did while it lived: the answer of its function."""

    holder: str
    led_epochs: list[int] = []
    seconds_led: float = 0.0
    planned: int = 0
    loaded: int = 0
    woken: int = 0
    published: int = 0
    let_through: int = 0  # beside a flood
    published_directly: int = 0  # past the queue, while that was away
    lost: int = 0
    overdue: int = 0
    lost_workers: int = 0
    rounds: int = 0  # of housekeeping, all of it
    longest_pause: float = 0.0  # between two turns of the loop, beyond what it meant to sleep
    errors: dict[str, int] = {}
    asleep_until: datetime | None = None  # nothing is to be done before; only where thrifty

    def note(self, error: Exception) -> None:
        name = type(error).__name__
        self.errors[name] = self.errors.get(name, 0) + 1


class Duties:
    """Which duty is due; each counts from when it was last begun."""

    def __init__(self, every: dict[str, float], steady: Callable[[], float]) -> None:
        self._every = every
        self._steady = steady
        self._begun = dict.fromkeys(every, float("-inf"))
        self._next = dict(self._begun)

    def due(self, duty: str) -> bool:
        now = self._steady()
        if now < self._next[duty]:
            return False
        self._begun[duty] = now
        self._next[duty] = now + self._every[duty]
        return True

    def hurry(self, duty: str, gap: float = 0.0) -> None:
        """Not to wait for its time, but for `gap` seconds since it was last begun."""
        self._next[duty] = min(self._next[duty], self._begun[duty] + gap)

    def until(self, duty: str) -> float:
        return max(0.0, self._next[duty] - self._steady())

    def until_next(self) -> float:
        return max(0.0, min(self._next.values()) - self._steady())


def some(rhythm: Rhythm, *duties: str) -> dict[str, float]:
    every: dict[str, float] = msgspec.to_builtins(rhythm)
    return {duty: every[duty] for duty in duties}
