"""Promise 3 and its kin: nothing starts too early, and nothing that was called off."""

from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import JobStatus
from lamplighter.domain.judge import EARLY_GRACE
from lamplighter.stages.verify.case import Case
from lamplighter.stages.verify.findings import Verdicts, at, of_run
from lamplighter.stages.verify.lives import CHANGING


def no_start_before_its_time(case: Case) -> Verdicts:
    """A claim may come a second early: the worker waits, and the ledger notes the claim."""
    for run in case.runs:
        start = case.first_start(run)
        if start is None:
            continue
        early = start < run.due_at - EARLY_GRACE
        text = f"it was due at {at(run.due_at)} and started at {at(start)}"
        yield of_run(run, text) if early else None


def no_start_after_the_end(case: Case) -> Verdicts:
    """A run that has ended, as a cancelled one has when the cancel is answered, stays so."""
    for run in case.runs:
        if run.end_time is None:
            continue
        starts = [each.started_at for each in case.attempts(run)]
        last = max((start for start in (*starts, run.start_time) if start), default=None)
        late = last is not None and last > run.end_time
        text = f"it ended {run.state.name} at {at(run.end_time)} and started at {at(last)}"
        yield of_run(run, text) if late else None


def no_start_after_cancel(case: Case) -> Verdicts:
    cancelled = case.life.cancelled_at
    if cancelled is None:
        return
    for run in case.runs:
        starts = [each.started_at for each in case.attempts(run)]
        last = max((start for start in (*starts, run.start_time) if start), default=None)
        late = last is not None and last > cancelled + CHANGING
        text = f"its job was cancelled at {at(cancelled)}, and it started at {at(last)}"
        yield of_run(run, text) if late else None


def no_start_while_paused(case: Case) -> Verdicts:
    """The schedule's runs only: who asks for one beside it means it."""
    for run in case.runs:
        start = case.first_start(run)
        if start is None or run.origin != BY_SCHEDULE:
            continue
        versions = case.life.around(start)
        paused = all(version.status is JobStatus.PAUSED for version in versions)
        since = versions[0].updated_at
        text = f"its job was paused since {at(since)}, and it started at {at(start)}"
        yield of_run(run, text) if paused else None
