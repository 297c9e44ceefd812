"""Whether a blocked run may start, seen over all of its upstreams; if it never will, why."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec

from lamplighter.domain.policy import TriggerRule
from lamplighter.domain.states import RunState, SkipReason

BLOCKED_BOUND = timedelta(hours=24)

# An upstream by the name that people know it by, and where its run stands; None: no run yet.
Seen: TypeAlias = tuple[str, RunState | None]
Ended: TypeAlias = tuple[str, RunState]

_WORST_FIRST = (
    RunState.FAILED,
    RunState.TIMED_OUT,
    RunState.CANCELLED,
    RunState.SKIPPED,
    RunState.SUCCESS,
)
_FAILURES = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED})

# Endings of a single upstream that rule the run out, by rule.
_RULED_OUT_BY = {
    TriggerRule.ALL_SUCCESS: _FAILURES | {RunState.SKIPPED},
    TriggerRule.NONE_FAILED: _FAILURES,
    TriggerRule.ALL_DONE: frozenset[RunState](),
    TriggerRule.ONE_SUCCESS: frozenset[RunState](),
}


class Ready(msgspec.Struct, frozen=True):
    """The run may start: BLOCKED becomes SCHEDULED."""


class Wait(msgspec.Struct, frozen=True):
    """An upstream that has not ended decides."""


class Skip(msgspec.Struct, frozen=True):
    """The run will never start, whatever the other upstreams do; `text` says what happened."""

    reason: SkipReason
    text: str


Verdict: TypeAlias = Ready | Wait | Skip


def verdict(rule: TriggerRule, upstreams: Sequence[Seen]) -> Verdict:
    """Decide as soon as no further ending can change the answer, and never differently later.

    Skipped is not success: `all_success` and `one_success` do not count it; `none_failed` lets
    it pass. Only `all_done` waits for every upstream whatever happens, and then always runs.
    """
    ended = [(name, state) for name, state in upstreams if state is not None and state.is_final]
    fatal = [(name, state) for name, state in ended if state in _RULED_OUT_BY[rule]]
    if fatal:
        return Skip(SkipReason.UPSTREAM_FAILED, _told(fatal))
    if rule is TriggerRule.ONE_SUCCESS and any(state is RunState.SUCCESS for _, state in ended):
        return Ready()
    if len(ended) < len(upstreams):
        return Wait()
    return _none_succeeded(ended) if rule is TriggerRule.ONE_SUCCESS else Ready()


def _none_succeeded(ended: Sequence[Ended]) -> Skip:
    if not ended:
        return Skip(SkipReason.UPSTREAM_MISSING, "no upstream is left that could succeed")
    return Skip(SkipReason.UPSTREAM_FAILED, f"no upstream succeeded: {_told(ended)}")


def _told(ended: Sequence[Ended]) -> str:
    """Name one and count the others; the first by name, so the same facts give the same text."""
    name, state = min(ended)
    others = f" (and {len(ended) - 1} more did not succeed)" if len(ended) > 1 else ""
    return f"upstream {name} ended {state.name}{others}"


def over_pools(states: Sequence[RunState | None]) -> RunState | None:
    """One state for an upstream that runs in several pools: a dependent waits for all of them.

    Unfinished while one of them is, then the worst: SUCCESS only where every pool succeeded.
    """
    for state in states:
        if state is None or not state.is_final:
            return state
    return next((state for state in _WORST_FIRST if state in states), None)


def blocked_until(
    *, fire: datetime, blocked_at: datetime, bound: timedelta = BLOCKED_BOUND
) -> datetime:
    """When to stop waiting for upstreams.

    Counted from the later of the two: a run of a past fire (backfill, catch-up) gets its full
    time, and so does one that was written down days ahead of its fire.
    """
    return max(fire, blocked_at) + bound


def missing(upstreams: Sequence[Seen], bound: timedelta = BLOCKED_BOUND) -> Skip:
    """How a run ends whose verdict at `blocked_until` is still Wait: names whom it waited for."""
    absent = sorted(name for name, state in upstreams if state is None or not state.is_final)
    others = f" (and {len(absent) - 1} more had not)" if len(absent) > 1 else ""
    hours = f"{bound / timedelta(hours=1):g} h"
    text = f"upstream {absent[0]} had not ended after {hours}{others}"
    return Skip(SkipReason.UPSTREAM_MISSING, text)
