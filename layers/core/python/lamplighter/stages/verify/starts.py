"""Promise 3 and its kin: nothing starts too early, and nothing that was called off."""

from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import JobStatus
from lamplighter.domain.judge import EARLY_GRACE
from lamplighter.stages.verify.case import Case
from lamplighter.stages.verify.findings import Verdicts, at, of_run


def no_start_before_its_time(case: Case) -> Verdicts:
    """A claim may come a second early: the worker waits, and the ledger notes the claim."""
    for run in case.runs:
        start = case.first_start(run)
        if start is None:
            continue
        if start >= run.due_at - EARLY_GRACE:
            yield None
        else:
            yield of_run(run, f"it was due at {at(run.due_at)} and started at {at(start)}")


def no_start_after_the_end(case: Case) -> Verdicts:
    """A run that has ended, as a cancelled one has when the cancel is answered, stays so."""
    for run in case.runs:
        last = case.last_start(run)
        if run.end_time is None or last is None:
            continue
        if last <= run.end_time:
            yield None
        else:
            ended = f"it ended {run.state.name} at {at(run.end_time)}"
            yield of_run(run, f"{ended} and started at {at(last)}")


def no_start_after_cancel(case: Case) -> Verdicts:
    """To the moment: both times are the ledger's, and a cancel's is read under the runs' locks."""
    cancelled = case.life.cancelled_at
    if cancelled is None:
        return
    for run in case.runs:
        last = case.last_start(run)
        if last is None or last <= cancelled:
            yield None
        else:
            told = f"its job was cancelled at {at(cancelled)}"
            yield of_run(run, f"{told}, and it started at {at(last)}")


def no_start_while_paused(case: Case) -> Verdicts:
    """The schedule's runs only: who asks for one beside it means it."""
    if not any(version.status is JobStatus.PAUSED for version in case.life.versions):
        return
    for run in case.runs:
        start = case.first_start(run)
        if start is None or run.origin != BY_SCHEDULE:
            continue
        versions = case.life.around(start)
        if any(version.status is not JobStatus.PAUSED for version in versions):
            yield None
        else:
            told = f"its job was paused since {at(versions[0].updated_at)}"
            yield of_run(run, f"{told}, and it started at {at(start)}")
