"""Rollup: what a batch of endings adds to the minutes."""

from collections.abc import Iterable
from datetime import datetime

from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.job import DEFAULT_POOL, DEFAULT_PRIORITY
from lamplighter.domain.policy import JobClass
from lamplighter.domain.states import RunState
from lamplighter.ports.rollups import Rollup

Ending = tuple[JobEvent, RunState]
_Key = tuple[datetime, str, str, JobClass, RunState]


def rolled_up(endings: Iterable[Ending]) -> list[Rollup]:
    """One line per minute, tenant, pool, class and state."""
    sums: dict[_Key, list[int]] = {}
    for event, state in endings:
        ended = ended_at(event)
        key = (
            ended.replace(second=0, microsecond=0),
            event.tenant,
            event.pool or DEFAULT_POOL,
            JobClass.of(event.priority or DEFAULT_PRIORITY),
            state,
        )
        late = _late_ms(event)
        line = sums.setdefault(key, [0, 0, 0, 0])
        line[0] += 1
        line[1] += _ms(event.started_at, ended)
        line[2] += late
        line[3] = max(line[3], late)
    return [Rollup(*key, *line) for key, line in sums.items()]


def ended_at(event: JobEvent) -> datetime:
    reported = None if event.outcome is None else event.outcome.ended_at
    return reported or event.at


def _late_ms(event: JobEvent) -> int:
    """How late the first attempt began: a later one was not due before the first had failed."""
    return _ms(event.due_at, event.started_at) if event.attempt in (None, 1) else 0


def _ms(since: datetime | None, until: datetime | None) -> int:
    """Never below 0: two clocks may differ by a little."""
    if since is None or until is None:
        return 0
    return max(0, round((until - since).total_seconds() * 1000))
