"""What two ledgers must agree on, with everything left out that their clocks decide."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from lamplighter.domain.job import Job
from lamplighter.domain.run import Accepted, ClaimAnswer, Due, Run, Settled
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import Ledger
from tests.adapters.ledger.builders import TENANT

_COMPARED: dict[type, tuple[str, ...]] = {
    Settled: ("run_id", "job_id", "recorded", "state"),
    Due: ("run_id", "tenant", "pool", "priority", "fence"),
    Job: ("job_id", "name", "status", "version", "repeats"),
}
_WITH_WORKER = (RunState.RUNNING, RunState.CANCELLING)


def told(answer: object) -> Any:
    """An answer, whatever call it belongs to, in a form that can be compared."""
    if isinstance(answer, list):
        return sorted(told(each) for each in answer)
    if isinstance(answer, Exception):
        return type(answer)
    if isinstance(answer, ClaimAnswer):
        given = sorted((each.run_id, each.fence, each.attempt) for each in answer.claimed)
        return given, answer.refused, sorted(answer.cancelled)
    if isinstance(answer, Accepted):
        return answer.created, told(answer.runs)
    return tuple(getattr(answer, name) for name in _COMPARED.get(type(answer), ()))


def seen(run: Run) -> tuple[Any, ...]:
    return (
        run.run_id,
        run.state,
        run.fence,
        run.attempt_number,
        run.losses,
        run.excused,
        run.reason,
        run.priority,
        run.error_message,
        run.missed_to,
        run.missed_count,
        run.executor_id if run.state in _WITH_WORKER else None,
        run.wake_at is None,
        run.start_time is None,
        run.end_time is None,
    )


def whole(ledger: Ledger, jobs: Sequence[Job]) -> list[list[Any]]:
    """All that a tenant can see of these jobs: themselves, their runs, their schedules."""
    runs = [run for job in jobs for run in ledger.runs(TENANT, job.job_id)]
    far_ahead = ledger.now() + timedelta(days=3650)
    return [
        [told(ledger.job(TENANT, job.job_id)) for job in jobs],
        sorted(seen(run) for run in runs),
        [
            (each.job.job_id, each.next_fire_at, each.job.version)
            for each in ledger.due_schedules(far_ahead, 1000)
        ],
    ]


def same(views: Sequence[Any]) -> None:
    """Fails with what they do not have in common, not with all that they have."""
    first, *others = views
    for other in others:
        if other != first and isinstance(first, list):
            missing = [each for each in first if each not in other]
            more = [each for each in other if each not in first]
            raise AssertionError(f"they differ: {missing} is not {more}")
        assert other == first, f"they differ: {first} is not {other}"


def attempts(ledger: Ledger, runs: Sequence[Run]) -> list[tuple[Any, ...]]:
    return [
        (each.run_id, each.attempt_number, each.fence, each.verdict)
        for run in runs
        for each in ledger.attempts(TENANT, run.run_id)
    ]
