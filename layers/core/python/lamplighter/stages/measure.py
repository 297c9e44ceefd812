"""Measure: what the recorder tells of runs. How late they began, how they ended, how long it took.

The hot one: a thousand runs cost about a millisecond here.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.domain.canary import INTERNAL_TENANT, is_canary
from lamplighter.domain.ids import fire_of
from lamplighter.domain.job import DEFAULT_POOL, DEFAULT_PRIORITY
from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.stages.aftermath import Folded, Seen
from lamplighter.stages.rollup import Ending, ended_at
from lamplighter.telemetry import Telemetry
from lamplighter.telemetry.metrics import (
    CANARY_LATENESS,
    DURATION,
    EXECUTIONS,
    FAILURES,
    START_LATENESS,
)

_NONE: Final = timedelta()
_MILLISECOND: Final = timedelta(milliseconds=1)
_CLASS_NAME: Final = {priority: JobClass.of(priority).name for priority in range(1, 11)}
_RUNNING: Final = JobEventType.RUNNING
_SUCCESS: Final = RunState.SUCCESS
# The others never ran, or were stopped by a person: that is no success and no failure.
_RAN: Final = (_SUCCESS, RunState.FAILED, RunState.TIMED_OUT)

_Place = tuple[str | None, int | None]


def measure(telemetry: Telemetry, folded: Folded) -> None:
    if telemetry.is_on:
        _measure_starts(telemetry, folded.seen)
        _measure_endings(telemetry, folded.endings)


def _measure_starts(telemetry: Telemetry, seen: Sequence[Seen]) -> None:
    """From the news that a run has begun, so that a long one is known to be late before it ends."""
    late: dict[_Place, list[timedelta]] = defaultdict(list)
    for event, _, _ in seen:
        # A later attempt was not due before the first had failed: only that one can be late.
        if event.event_type is _RUNNING and event.attempt == 1:
            started, due = event.started_at, event.due_at
            if started is not None and due is not None:
                late[event.pool, event.priority].append(started - due)
    for place, spans in late.items():
        telemetry.add(START_LATENESS, _in_ms(spans), *_named(place))


def _measure_endings(telemetry: Telemetry, endings: Sequence[Ending]) -> None:
    took: dict[_Place, list[timedelta]] = defaultdict(list)
    bad: dict[_Place, int] = defaultdict(int)
    for event, state in endings:
        started = event.started_at
        if started is None or state not in _RAN:
            continue
        place = event.pool, event.priority
        took[place].append(ended_at(event) - started)
        if state is not _SUCCESS:
            bad[place] += 1
        elif event.tenant == INTERNAL_TENANT and is_canary(event.job_id):
            _measure_canary(telemetry, event)
    for place, spans in took.items():
        named = _named(place)
        telemetry.count(EXECUTIONS, len(spans), *named)
        telemetry.count(FAILURES, bad[place], *named)
        telemetry.add(DURATION, _in_ms(spans), *named)


def _in_ms(spans: Sequence[timedelta]) -> list[int]:
    """Two clocks may differ by a little, so nothing is below 0."""
    return [span // _MILLISECOND if span > _NONE else 0 for span in spans]


def _measure_canary(telemetry: Telemetry, event: JobEvent) -> None:
    """Of a canary that came back: fired, brought, run and written down, so all of it works."""
    if event.run_id is not None and event.started_at is not None:
        late = (event.started_at - fire_of(event.run_id)) // _MILLISECOND
        telemetry.count(CANARY_LATENESS, max(0, late))


def _named(place: _Place) -> tuple[str, str]:
    pool, priority = place
    return pool or DEFAULT_POOL, _CLASS_NAME[priority or DEFAULT_PRIORITY]
