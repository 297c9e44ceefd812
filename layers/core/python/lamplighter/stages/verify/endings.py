"""Promises 1 and 2: each run ends once, in one way, and at most one completion is accepted."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.judge import LATE_GRACE, expiry
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.slots import is_backfill
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.stages.verify.case import Case
from lamplighter.stages.verify.findings import Verdicts, at, of_run
from lamplighter.stages.verify.lives import FAR_AHEAD

_LOST = "lost"
_WORKED = (RunState.SUCCESS, RunState.FAILED, RunState.TIMED_OUT)
_BRIEFLY = timedelta(seconds=1)


def every_run_ends_one_way(case: Case) -> Verdicts:
    for run in case.runs:
        wrong = _disposition(run)
        yield None if wrong is None else of_run(run, wrong)


def _disposition(run: Run) -> str | None:
    state = run.state.name
    if run.state.is_final != (run.end_time is not None):
        return f"it is {state} and ended {at(run.end_time)}"
    if (run.state is RunState.SKIPPED) != (run.reason is not None):
        return f"it is {state} with the reason {run.reason.name if run.reason else 'none'}"
    if run.state in _WORKED and (run.start_time is None or run.fence == 0):
        return f"it is {state}, and nobody ever started it"
    if run.state is RunState.SKIPPED and run.start_time is not None:
        return f"it was skipped at {at(run.end_time)} and started at {at(run.start_time)}"
    return None


def one_completion_is_accepted(case: Case) -> Verdicts:
    """By fence: each claim has one ending, and no claim came after the one that was believed."""
    for run in case.runs:
        wrong = _second_completion(run, case.attempts(run))
        yield None if wrong is None else of_run(run, wrong)


def _second_completion(run: Run, attempts: Sequence[Attempt]) -> str | None:
    for before, after in pairwise(attempts):
        if before.fence >= after.fence:
            return f"its fence {after.fence} ended twice, {before.verdict} and {after.verdict}"
    last = attempts[-1] if attempts else None
    if last is not None and last.fence > run.fence:
        return f"fence {last.fence} was given out, and the run stands at {run.fence}"
    if last is not None and run.state is RunState.SUCCESS and last.fence == run.fence:
        return f"fence {run.fence} ended {last.verdict} at {at(last.ended_at)} and as SUCCESS"
    lost = sum(each.verdict == _LOST for each in attempts)
    if lost != run.losses:
        return f"it has {run.losses} losses, and {lost} attempts were lost"
    return None


def attempts_stay_within_retries(case: Case) -> Verdicts:
    """1 + max_retries, of which a lost worker costs none."""
    for run in case.runs:
        versions = case.life.during(run.created_at, run.end_time or FAR_AHEAD)
        most = 1 + max(version.max_retries for version in versions)
        failed = sum(each.verdict != _LOST for each in case.attempts(run))
        made = max(run.attempt_number, failed)
        wrong = f"it made {made} attempts, where {most} were allowed" if made > most else None
        yield None if wrong is None else of_run(run, wrong)


def times_run_forward(case: Case) -> Verdicts:
    for run in case.runs:
        wrong = next(_backwards(run, case.attempts(run)), None)
        yield None if wrong is None else of_run(run, wrong)


def _backwards(run: Run, attempts: Sequence[Attempt]) -> Iterator[str]:
    if run.start_time and run.end_time and run.end_time < run.start_time:
        yield f"it ended at {at(run.end_time)}, before it started at {at(run.start_time)}"
    ended: datetime | None = None
    for each in attempts:
        started = each.started_at or each.ended_at
        if each.ended_at < started:
            yield f"attempt {each.attempt_number} ended before it started, at {at(each.ended_at)}"
        if ended is not None and started < ended:
            yield f"attempt {each.attempt_number} started at {at(started)}, before {at(ended)}"
        ended = each.ended_at
    noted = any(each.fence == run.fence or each.started_at == run.start_time for each in attempts)
    if ended and run.start_time and run.start_time < ended and not noted:
        yield f"it started at {at(run.start_time)}, while an attempt went on to {at(ended)}"


def skips_have_their_reason(case: Case) -> Verdicts:
    for run in case.runs:
        if run.state is not RunState.SKIPPED or run.reason is None or run.end_time is None:
            continue
        paused = run.reason is SkipReason.PAUSED
        since = run.end_time if paused else run.created_at
        versions = case.life.during(since, run.end_time)
        if any(_explains(version, run, run.reason, run.end_time) for version in versions):
            yield None
        else:
            told = f"SKIPPED: {run.reason.name.lower()} at {at(run.end_time)}"
            yield of_run(run, f"it is {told}, and the job gave no reason for that")


def _explains(version: Job, run: Run, reason: SkipReason, ended: datetime) -> bool:
    match reason:
        case SkipReason.PAUSED:
            return version.status is JobStatus.PAUSED
        case SkipReason.OVERLAP:
            may = version.overlap in (Overlap.FORBID, Overlap.REPLACE)
            return may and not is_backfill(run.origin)
        case SkipReason.MISSED_WINDOW:
            return ended - run.due_at >= LATE_GRACE - _BRIEFLY
        case SkipReason.EXPIRED:
            end = expiry(run, version)
            return end is not None and ended >= end - _BRIEFLY
        case SkipReason.UPSTREAM_FAILED | SkipReason.UPSTREAM_MISSING:
            return bool(version.after)
