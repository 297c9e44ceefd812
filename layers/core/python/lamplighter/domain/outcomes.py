"""What a worker's report means for a run: decided here, for every ledger alike."""

from datetime import datetime
from typing import Final

from lamplighter.domain import transitions
from lamplighter.domain.job import Job
from lamplighter.domain.retry import TIMED_OUT, AttemptError, RetryAt, after_failure
from lamplighter.domain.run import Claimed, Outcome, Run, Verdict
from lamplighter.domain.states import RunState

_S = RunState

# Where a run stands after an outcome was recorded; a report that finds it there is a repetition.
_AFTER: Final = {
    Verdict.SUCCESS: {_S.SUCCESS},
    Verdict.FAILED: {_S.FAILED, _S.RETRYING, _S.PARKED, _S.CANCELLED},
    Verdict.TIMED_OUT: {_S.TIMED_OUT, _S.RETRYING, _S.PARKED, _S.CANCELLED},
    Verdict.CANCELLED: {_S.CANCELLED},
    Verdict.RELEASED: {_S.SCHEDULED, _S.PARKED, _S.CANCELLED},
}
_NOT_STARTED: Final = (_S.SCHEDULED, _S.BLOCKED, _S.PARKED)


def is_awaited(run: Run, outcome: Outcome) -> bool:
    """Whether this is the report that the run waits for."""
    return run.fence == outcome.fence and run.state in (_S.RUNNING, _S.CANCELLING)


def is_repeated(run: Run, outcome: Outcome) -> bool:
    return run.fence == outcome.fence and run.state in _AFTER[outcome.verdict]


def after_outcome(run: Run, job: Job, outcome: Outcome, now: datetime, draw: float) -> Run:
    """The run, once the report that it waits for is folded in."""
    stopping = run.state is _S.CANCELLING
    match outcome.verdict:
        case Verdict.SUCCESS:
            return transitions.ended(run, _S.SUCCESS, outcome, now)
        case Verdict.RELEASED if not stopping:
            return transitions.released(run, now)
        case Verdict.FAILED | Verdict.TIMED_OUT if not stopping:
            return _after_failure(run, job, outcome, now, draw)
        case _ if stopping:
            return transitions.ended(run, _S.CANCELLED, outcome, now)
        case _:  # the worker says cancelled, and nobody had asked: it stopped by itself
            return transitions.ended(transitions.cancelling(run, now), _S.CANCELLED, outcome, now)


def _after_failure(run: Run, job: Job, outcome: Outcome, now: datetime, draw: float) -> Run:
    kind = TIMED_OUT if outcome.verdict is Verdict.TIMED_OUT else "failed"
    ruling = after_failure(
        attempt_number=run.attempt_number,
        max_retries=job.max_retries,
        error=AttemptError(kind, outcome.error or "", outcome.retryable),
        backoff=job.policy.backoff,
        failed_at=now,
        draw=draw,
    )
    if isinstance(ruling, RetryAt):
        return transitions.retrying(run, ruling, outcome, now)
    return transitions.ended(run, ruling.state, outcome, now)


def may_skip(run: Run) -> bool:
    """Only what never started: a run that waits for its next attempt is not skipped."""
    return run.state in _NOT_STARTED and run.start_time is None


def as_claimed(run: Run, job: Job) -> Claimed:
    """What the worker gets to know of a run that was just given to it."""
    return Claimed(
        run.run_id,
        run.job_id,
        run.tenant,
        run.pool,
        run.fence,
        run.attempt_number,
        run.due_at,
        job.name,
        run.priority,
        job.timeout_seconds,
        job.target,
        job.payload,
    )
