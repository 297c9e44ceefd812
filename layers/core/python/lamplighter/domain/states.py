"""The one table of run states and the edges between them. The docs' picture is drawn from it."""

from enum import IntEnum


class RunState(IntEnum):
    """Stored as a small number, shown by its name. Numbers are forever: add, never renumber."""

    SCHEDULED = 1  # waits for its time; once that has come, readers call it QUEUED
    BLOCKED = 2  # waits for its upstreams
    PARKED = 3  # its time has come, and it waits for a slot
    RUNNING = 4
    RETRYING = 5  # an attempt failed, the next one waits for its time
    HELD = 6  # its worker fell silent, and the job wants a person to decide
    CANCELLING = 7  # its worker has been told to stop
    SUCCESS = 10
    FAILED = 11
    TIMED_OUT = 12
    CANCELLED = 13
    SKIPPED = 14

    @property
    def is_final(self) -> bool:
        return self >= 10  # SUCCESS; by its number, since this is asked several times of each event


class SkipReason(IntEnum):
    """Why a fire did not run, as promised for every one of them."""

    OVERLAP = 1
    PAUSED = 2
    MISSED_WINDOW = 3
    UPSTREAM_FAILED = 4
    UPSTREAM_MISSING = 5
    EXPIRED = 6


_S = RunState

EDGES: dict[RunState, frozenset[RunState]] = {
    _S.SCHEDULED: frozenset({_S.PARKED, _S.RUNNING, _S.CANCELLED, _S.SKIPPED}),
    _S.BLOCKED: frozenset({_S.SCHEDULED, _S.CANCELLED, _S.SKIPPED}),
    _S.PARKED: frozenset({_S.SCHEDULED, _S.RETRYING, _S.CANCELLED, _S.SKIPPED}),
    _S.RUNNING: frozenset(
        {_S.SUCCESS, _S.FAILED, _S.TIMED_OUT, _S.RETRYING, _S.HELD, _S.CANCELLING, _S.SCHEDULED}
    ),
    _S.RETRYING: frozenset({_S.RUNNING, _S.PARKED, _S.CANCELLED}),
    _S.HELD: frozenset({_S.SCHEDULED, _S.SUCCESS, _S.FAILED, _S.CANCELLED}),
    _S.CANCELLING: frozenset({_S.CANCELLED, _S.SUCCESS, _S.FAILED, _S.TIMED_OUT}),
    _S.SUCCESS: frozenset(),
    _S.FAILED: frozenset(),
    _S.TIMED_OUT: frozenset(),
    _S.CANCELLED: frozenset(),
    _S.SKIPPED: frozenset(),
}


def may_become(old: RunState, new: RunState) -> bool:
    return new in EDGES[old]
