"""Promise 1, while it is being kept: whatever is due and has not ended waits for a good reason."""

from datetime import datetime

from lamplighter.domain.run import Run
from lamplighter.domain.slots import slot_keys
from lamplighter.domain.states import RunState
from lamplighter.stages.verify.case import Case
from lamplighter.stages.verify.findings import Verdicts, at, of_run

_S = RunState
_WITH_WORKER = (_S.RUNNING, _S.CANCELLING)


def nothing_is_stuck(case: Case) -> Verdicts:
    for run in case.runs:
        if run.state.is_final:
            yield None
            continue
        overdue = run.due_at < case.window.overdue
        why = _stuck(case, run) if overdue else None
        yield None if why is None else of_run(run, f"it was due at {at(run.due_at)} and {why}")


def _stuck(case: Case, run: Run) -> str | None:
    overdue = case.window.overdue
    if run.state in _WITH_WORKER:
        return _without_worker(case, run)
    if run.state is _S.PARKED:
        return _parked_for_nothing(case, run)
    if run.state is _S.SCHEDULED:
        since = run.modified_time
        waits = since >= overdue  # freed, handed a slot or given back: it has just become due
        return None if waits else f"nobody has claimed it since {at(since)}"
    return None if _is_ahead(run.wake_at, overdue) else f"is {run.state.name} {_past(run)}"


def _past(run: Run) -> str:
    return f"past {at(run.wake_at)}, when it was to be looked at"


def _is_ahead(instant: datetime | None, overdue: datetime) -> bool:
    return instant is not None and instant >= overdue


def _without_worker(case: Case, run: Run) -> str | None:
    overdue = case.window.overdue
    heard = case.facts.heartbeats.get(run.executor_id or "")
    if _is_ahead(run.start_time, overdue) or _is_ahead(heard, overdue):
        return None
    return f"is {run.state.name} at {run.executor_id}, which was last heard of {at(heard)}"


def _parked_for_nothing(case: Case, run: Run) -> str | None:
    overdue = case.window.overdue
    if run.wake_at is not None and run.wake_at < overdue:
        return f"is PARKED {_past(run)}"
    if run.modified_time >= overdue:
        return None
    keys = slot_keys(case.life.job, run.pool, run.origin)
    waits = any(case.facts.ahead_in.get(key.name, frozenset()) - {run.run_id} for key in keys)
    return None if waits else "is PARKED, while there is nobody that it could wait for"
