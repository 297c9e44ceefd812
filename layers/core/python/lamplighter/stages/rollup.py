"""Rollup: what a batch of endings adds to the minutes."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.job import DEFAULT_POOL, DEFAULT_PRIORITY
from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.ports.rollups import Rollup

Ending = tuple[JobEvent, RunState]

_NONE: Final = timedelta()
_MILLISECOND: Final = timedelta(milliseconds=1)
_CLASS_OF: Final = {priority: JobClass.of(priority).value for priority in range(1, 11)}


class _Sum:
    """Of one line. Spans are added as they are, and rounded once."""

    __slots__ = ("duration", "lateness", "latest", "runs")

    def __init__(self) -> None:
        self.runs = 0
        self.duration = self.lateness = self.latest = _NONE

    def add(self, event: JobEvent, ended: datetime) -> None:
        self.runs += 1
        started = event.started_at
        if started is None:
            return
        self.duration += max(_NONE, ended - started)
        # A later attempt was not due before the first had failed: only that one can be late. Two
        # clocks may differ by a little, so nothing is below 0.
        if event.due_at is not None and event.attempt in (None, 1):
            late = max(_NONE, started - event.due_at)
            self.lateness += late
            self.latest = max(self.latest, late)

    def in_ms(self) -> tuple[int, int, int, int]:
        spans = (self.duration, self.lateness, self.latest)
        duration, lateness, latest = (span // _MILLISECOND for span in spans)
        return self.runs, duration, lateness, latest


def rolled_up(endings: Iterable[Ending]) -> list[Rollup]:
    """One line per minute, tenant, pool, class and state."""
    sums: dict[tuple[datetime, str, str, int, RunState], _Sum] = {}
    for event, state in endings:
        ended = ended_at(event)
        key = (
            ended.replace(second=0, microsecond=0),
            event.tenant,
            event.pool or DEFAULT_POOL,
            _CLASS_OF[event.priority or DEFAULT_PRIORITY],
            state,
        )
        line = sums.get(key)
        if line is None:
            line = sums[key] = _Sum()
        line.add(event, ended)
    return [
        Rollup(minute, tenant, pool, JobClass(of_class), state, *line.in_ms())
        for (minute, tenant, pool, of_class, state), line in sums.items()
    ]


def ended_at(event: JobEvent) -> datetime:
    reported = None if event.outcome is None else event.outcome.ended_at
    return reported or event.at
