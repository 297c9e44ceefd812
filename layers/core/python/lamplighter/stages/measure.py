"""Measure: what the recorder tells of runs. How late they began, how they ended, how long it took.

The hot one: a thousand runs cost less than a millisecond here.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.domain.canary import is_canary
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import DEFAULT_POOL, DEFAULT_PRIORITY
from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.stages.aftermath import Folded
from lamplighter.stages.rollup import Ending, ended_at
from lamplighter.telemetry import Telemetry
from lamplighter.telemetry.metrics import (
    CANARY_LATENESS,
    DURATION,
    EXECUTIONS,
    FAILURES,
    START_LATENESS,
)

_MILLISECOND: Final = timedelta(milliseconds=1)
_CLASS_NAME: Final = {priority: JobClass.of(priority).name for priority in range(1, 11)}
_BAD: Final = (RunState.FAILED, RunState.TIMED_OUT)
# The others never ran, or were stopped by a person: that is no success and no failure.
_RAN: Final = (RunState.SUCCESS, *_BAD)

_Place = tuple[str | None, int | None]


def measure(telemetry: Telemetry, folded: Folded) -> None:
    if not telemetry.is_on:
        return
    _measure_starts(telemetry, [each.event for each in folded.seen])
    _measure_endings(telemetry, folded.endings)


def _measure_starts(telemetry: Telemetry, events: Sequence[JobEvent]) -> None:
    """From the news that a run has begun, so that a long one is known to be late before it ends."""
    late: dict[_Place, list[float]] = defaultdict(list)
    for event in events:
        # A later attempt was not due before the first had failed: only that one can be late.
        if event.event_type is not JobEventType.RUNNING or event.attempt != 1:
            continue
        if event.started_at is not None and event.due_at is not None:
            lateness = (event.started_at - event.due_at) // _MILLISECOND
            late[event.pool, event.priority].append(max(0, lateness))
    for place, values in late.items():
        telemetry.add(START_LATENESS, values, *_named(place))


def _measure_endings(telemetry: Telemetry, endings: Sequence[Ending]) -> None:
    took: dict[_Place, list[float]] = defaultdict(list)
    bad: dict[_Place, int] = defaultdict(int)
    for event, state in endings:
        if state not in _RAN or event.started_at is None:
            continue
        place = event.pool, event.priority
        took[place].append(max(0, (ended_at(event) - event.started_at) // _MILLISECOND))
        if state is not RunState.SUCCESS:
            bad[place] += 1
        elif is_canary(event.job_id):
            _measure_canary(telemetry, event)
    for place, values in took.items():
        named = _named(place)
        telemetry.count(EXECUTIONS, len(values), *named)
        telemetry.count(FAILURES, bad[place], *named)
        telemetry.add(DURATION, values, *named)


def _measure_canary(telemetry: Telemetry, event: JobEvent) -> None:
    """Of a canary that came back: fired, brought, run and written down, so all of it works."""
    if event.run_id is not None and event.started_at is not None:
        late = (event.started_at - fire_of(event.run_id)) // _MILLISECOND
        telemetry.count(CANARY_LATENESS, max(0, late))


def _named(place: _Place) -> tuple[str, str]:
    pool, priority = place
    return pool or DEFAULT_POOL, _CLASS_NAME[priority or DEFAULT_PRIORITY]
