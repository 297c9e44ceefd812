"""From how a target ended to what the ledger is told, in words that a person can act on."""

from typing import Any

from lamplighter.domain.errors import InvalidJob
from lamplighter.domain.run import Claimed, Outcome, Verdict
from lamplighter.ports.target import SecretUnavailable, StopReason, TargetFailed, TargetResult
from lamplighter.stages.run.context import RunContext
from lamplighter.stages.run.keeping import Mask, clean, keep_result, shorten
from lamplighter.stages.run.limits import Limits
from lamplighter.stages.run.output import NOTHING, Captured

Ending = TargetResult | BaseException


def outcome_of(ending: Ending, context: RunContext, limits: Limits) -> Outcome:
    """The verdict where nobody had to stop it."""
    captured = context.captured()
    try:
        if isinstance(ending, TargetResult):
            result = keep_result(ending.result, limits.kept_bytes, context.mask)
            return _succeeded(context.run, result, captured)
        return _failed(context.run, ending, limits, captured, context.mask)
    except BaseException as broken:  # noqa: BLE001 - a result's or an error's own methods may fail
        return _failed(context.run, broken, limits, captured, context.mask)


def stopped(reason: StopReason, context: RunContext, *, left_behind: bool = False) -> Outcome:
    """It was stopped, or was told to and did not care: then nobody knows what it still does."""
    if reason is StopReason.TIMED_OUT:
        timeout = context.timeout
        verdict = Verdict.TIMED_OUT
        error = f"timed out after {timeout.seconds:g} s, {timeout.source}"
    else:
        verdict, error = Verdict.CANCELLED, "cancelled while it ran"
    if left_behind:
        error += "; it did not stop when told to, and was left behind"
    return _outcome(context.run, verdict, context.captured(), error=error)


def cancelled_waiting(run: Claimed) -> Outcome:
    return _outcome(run, Verdict.CANCELLED, NOTHING, error="cancelled before it started")


def released(run: Claimed) -> Outcome:
    return _outcome(run, Verdict.RELEASED, NOTHING)


def refused(run: Claimed, error: BaseException, limits: Limits) -> Outcome:
    """No target could be found for it."""
    return _failed(run, error, limits, NOTHING, Mask())


def explain(error: BaseException) -> str:
    if isinstance(error, TargetFailed | SecretUnavailable | InvalidJob):
        return str(error)
    if isinstance(error, MemoryError):
        return "ran out of memory"
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - an exception's own __str__ may fail
        said = ""
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def is_retryable(error: BaseException) -> bool:
    if isinstance(error, TargetFailed | SecretUnavailable):
        return error.retryable
    return not isinstance(error, InvalidJob)


def _succeeded(run: Claimed, result: Any, captured: Captured) -> Outcome:
    if captured is NOTHING:  # the ordinary case of a herd, where each microsecond counts
        return Outcome(run_id=run.run_id, fence=run.fence, verdict=Verdict.SUCCESS, result=result)
    return _outcome(run, Verdict.SUCCESS, captured, result=result)


def _failed(
    run: Claimed, error: BaseException, limits: Limits, captured: Captured, mask: Mask
) -> Outcome:
    text = clean(shorten(mask.text(explain(error)), limits.error_characters))
    return _outcome(run, Verdict.FAILED, captured, error=text, retryable=is_retryable(error))


def _outcome(run: Claimed, verdict: Verdict, captured: Captured, **rest: Any) -> Outcome:
    return Outcome(
        run_id=run.run_id,
        fence=run.fence,
        verdict=verdict,
        stdout=captured.stdout,
        stderr=captured.stderr,
        log_url=captured.log_url,
        **rest,
    )
