"""Explain: one true sentence for any run and any job: why it has not run, will not, or ran late.

Pure: everything it says comes from the job, the run and the facts that were looked up.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Final

import msgspec

from lamplighter.contracts.answers import shown_span
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.policy import Overlap, ScheduleType
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.slots import is_backfill
from lamplighter.domain.states import RunState
from lamplighter.stages.explain_endings import at, ended, error, lateness, times
from lamplighter.stages.stats import SILENT_AFTER

_SHOWN_UPSTREAMS: Final = 5


class Upstream(msgspec.Struct, frozen=True):
    """Somebody that a run waits for, and where the run of that one stands; None: none yet."""

    name: str
    status: str | None


class Facts(msgspec.Struct, frozen=True):
    """What was looked up; None is "not known"."""

    now: datetime
    next_fire: datetime | None = None
    upstreams: tuple[Upstream, ...] = ()
    live_workers: int | None = None
    # Of a run that was cancelled: its last start, if that had come to an end before.
    last_attempt: Attempt | None = None


def explain_job(job: Job, run: Run | None, facts: Facts) -> str:
    """`run` is the latest whose time has come, else the next; None where there is none."""
    name = f"Job {job.name!r}"
    if run is not None and not run.state.is_final:
        return explain_run(job, run, facts)
    past = "" if run is None else f" {_ended(job, run, facts)}; it"
    match job.status:
        case JobStatus.CANCELLED:
            return f"{name}{past} was cancelled at {at(job.updated_at)} and will not run again."
        case JobStatus.REJECTED:
            why = job.policy.rejection or "nobody kept the reason"
            return f"{name} was refused when the ledger came back, and will not run: {why}."
        case JobStatus.PAUSED:
            # Since when, nobody keeps: an edit of a paused job is a later update.
            return f"{name}{past} is paused; its fires are skipped until it is resumed."
        case JobStatus.SCHEDULED:
            return f"{name}{past} {_future(job, facts)}."


def _future(job: Job, facts: Facts) -> str:
    if facts.next_fire is not None:
        return f"fires next at {at(facts.next_fire)}"
    if job.schedule.schedule_type is ScheduleType.AFTER:
        return f"runs when its upstreams do: {_listed(facts.upstreams)}"
    return "has no fire left, so it will not run again by itself"


def explain_run(job: Job, run: Run, facts: Facts) -> str:
    return f"Job {job.name!r} {_told(job, run, facts)}."


def _told(job: Job, run: Run, facts: Facts) -> str:
    return _ended(job, run, facts) if run.state.is_final else _OPEN[run.state](job, run, facts)


def _ended(job: Job, run: Run, facts: Facts) -> str:
    return ended(job, run, facts.now, facts.last_attempt)


def _blocked(_: Job, run: Run, facts: Facts) -> str:
    return (
        f"has not run for its fire of {at(run.fire_at)}, because it waits for its upstreams: "
        f"{_listed(facts.upstreams)}; it gives up at {at(run.wake_at)}"
    )


def _parked(job: Job, run: Run, _: Facts) -> str:
    return f"was due at {at(run.due_at)} and waits for {_slot(job, run)}"


def _running(job: Job, run: Run, _: Facts) -> str:
    begun = f"has been running since {at(run.start_time)} on {run.executor_id}"
    if run.attempt_number > 1:
        return f"{begun}, attempt {run.attempt_number} of {1 + job.max_retries}"
    return begun + lateness(run).replace(", on time", "")


def _retrying(job: Job, run: Run, _: Facts) -> str:
    # The run counts the attempt that is to come.
    return (
        f"failed at attempt {run.attempt_number - 1} of {1 + job.max_retries} ({error(run)}) "
        f"and tries again at {at(run.wake_at)}"
    )


def _held(_: Job, run: Run, __: Facts) -> str:
    return (
        f"is held, because worker {run.executor_id} fell silent during its run and the job says "
        f"on_ambiguous: hold; decide by {at(run.wake_at)}, or it ends as FAILED"
    )


def _cancelling(_: Job, run: Run, __: Facts) -> str:
    return f"was asked to stop, and its worker {run.executor_id} has not confirmed that yet"


def _waiting(job: Job, run: Run, facts: Facts) -> str:
    due = at(run.due_at)
    if job.status is JobStatus.PAUSED and run.origin == "schedule":
        return f"will skip its fire of {at(run.fire_at)}, unless it is resumed: it is paused"
    if job.status is JobStatus.CANCELLED:
        return f"will not run at {due}: it was cancelled at {at(job.updated_at)}"
    if run.due_at > facts.now:
        return (
            f"has not run yet, because it is due at {due}, in {shown_span(run.due_at - facts.now)}"
        )
    late = f"was due at {due}, {shown_span(facts.now - run.due_at)} ago"
    if run.losses:
        return f"{late}, lost its worker {times(run.losses)} and waits for another"
    if facts.live_workers == 0:
        heard = shown_span(SILENT_AFTER)
        return f"{late}, and no worker of pool {run.pool!r} was heard of in the last {heard}"
    return f"{late}, and no worker of pool {run.pool!r} has claimed it yet"


def _slot(job: Job, run: Run) -> str:
    if job.ordering_key is not None:
        return f"its turn in the order of {job.ordering_key!r}"
    if is_backfill(run.origin):
        return f"a place in the lane of {run.origin!r}"
    if job.max_concurrency is not None:
        key = job.concurrency_key or job.name
        return f"a place: {key!r} may run {job.max_concurrency} at once"
    if job.overlap in (Overlap.QUEUE, Overlap.REPLACE):
        return f"its earlier run to end (overlap: {job.overlap.value})"
    return "a slot"


def _listed(upstreams: tuple[Upstream, ...]) -> str:
    told = [f"{each.name!r} ({each.status or 'no run yet'})" for each in upstreams]
    if not told:
        return "those in `after`"
    hidden = len(told) - _SHOWN_UPSTREAMS
    more = f" and {hidden} more" if hidden > 0 else ""
    return ", ".join(told[:_SHOWN_UPSTREAMS]) + more


_OPEN: Final[dict[RunState, Callable[[Job, Run, Facts], str]]] = {
    RunState.SCHEDULED: _waiting,
    RunState.BLOCKED: _blocked,
    RunState.PARKED: _parked,
    RunState.RUNNING: _running,
    RunState.RETRYING: _retrying,
    RunState.HELD: _held,
    RunState.CANCELLING: _cancelling,
}
