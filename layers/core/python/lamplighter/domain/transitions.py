"""How a run changes: each step of its life as a function from one record to the next.

Every one of them goes through `_become`, so no store can take a run along an edge that the table
of states does not have.
"""

from datetime import datetime
from typing import Any

import msgspec

from lamplighter.domain.retry import HELD_BOUND, Fail, Hold, Requeue, RetryAt
from lamplighter.domain.run import Attempt, Outcome, Run
from lamplighter.domain.states import RunState, SkipReason, may_become


class IllegalTransition(AssertionError):
    """The caller did not look at the state before changing it: a bug, never a user's mistake."""


def _become(run: Run, state: RunState, now: datetime, **changes: Any) -> Run:
    if not may_become(run.state, state):
        raise IllegalTransition(f"run {run.run_id}: {run.state.name} cannot become {state.name}")
    # A wake-up call says when to look at the run again; every step that wants one says so.
    changes.setdefault("wake_at", None)
    return msgspec.structs.replace(run, state=state, modified_time=now, **changes)


def started(run: Run, worker_id: str, now: datetime) -> Run:
    return _become(
        run, RunState.RUNNING, now, fence=run.fence + 1, executor_id=worker_id, start_time=now
    )


def parked(run: Run, now: datetime, until: datetime | None = None) -> Run:
    """Waits for a slot, and not past `until`: the sweep looks at it then."""
    return _become(run, RunState.PARKED, now, excused=True, wake_at=until)


def woken(run: Run, now: datetime) -> Run:
    """A parked run was handed its slot: back to what it was waiting for when it was parked."""
    state = RunState.SCHEDULED if run.attempt_number == 1 else RunState.RETRYING
    return _become(run, state, now, excused=True, wake_at=now)


def freed(run: Run, now: datetime) -> Run:
    """Its upstreams have let it go; a fire still to come keeps its time."""
    return _become(run, RunState.SCHEDULED, now, excused=True, wake_at=max(now, run.due_at))


def skipped(run: Run, reason: SkipReason, now: datetime, text: str | None = None) -> Run:
    return _become(run, RunState.SKIPPED, now, reason=reason, end_time=now, error_message=text)


def cancelled(run: Run, now: datetime, text: str | None = None) -> Run:
    return _become(run, RunState.CANCELLED, now, end_time=now, error_message=text)


def cancelling(run: Run, now: datetime, text: str | None = None) -> Run:
    return _become(run, RunState.CANCELLING, now, error_message=text)


def released(run: Run, now: datetime) -> Run:
    """The worker never began: what the claim noted is taken back, except the fence."""
    begun = {} if run.attempt_number > 1 or run.losses > 0 else {"start_time": None}
    return _become(run, RunState.SCHEDULED, now, executor_id=None, wake_at=now, **begun)


def ended(run: Run, state: RunState, outcome: Outcome, now: datetime) -> Run:
    """The worker's clock may run ahead or behind; an end lies between the start and now."""
    end = min(outcome.ended_at or now, now)
    return _become(
        run,
        state,
        now,
        end_time=max(end, run.start_time or end),
        error_message=_error(state, outcome.error, run),
        result=outcome.result,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        log_url=outcome.log_url,
    )


def retrying(run: Run, retry: RetryAt, outcome: Outcome, now: datetime) -> Run:
    return _become(
        run,
        RunState.RETRYING,
        now,
        wake_at=retry.at,
        attempt_number=run.attempt_number + 1,
        error_message=outcome.error,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        log_url=outcome.log_url,
    )


def lost(run: Run, ruling: Requeue | Hold | Fail, now: datetime) -> Run:
    """The worker fell silent. The fence rises, so that it changes nothing if it comes back."""
    seen = {"losses": run.losses + 1, "fence": run.fence + 1}
    if isinstance(ruling, Fail):
        return _become(run, RunState.FAILED, now, end_time=now, error_message=ruling.kind, **seen)
    if isinstance(ruling, Hold):
        return _become(run, RunState.HELD, now, wake_at=now + HELD_BOUND, **seen)
    return _become(run, RunState.SCHEDULED, now, wake_at=now, **seen)


def decided(run: Run, state: RunState, now: datetime, text: str | None = None) -> Run:
    """A person, or a week without one, has decided what a held run has come to."""
    if state is RunState.SCHEDULED:
        return _become(run, state, now, wake_at=now)
    return _become(run, state, now, end_time=now, error_message=_error(state, text, run))


def _error(state: RunState, text: str | None, run: Run) -> str | None:
    """A success has none: those of the attempts before it are kept with them."""
    return None if state is RunState.SUCCESS else text or run.error_message


def attempt_of(run: Run, verdict: str, error: str | None, now: datetime) -> Attempt:
    """An attempt that did not end in success, told from the run before it changes."""
    return Attempt(
        run.run_id,
        run.attempt_number,
        run.fence,
        verdict,
        run.start_time,
        now,
        run.executor_id,
        error,
    )
