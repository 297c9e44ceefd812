"""Outcomes: how attempts ended, what that means for the run, and for those that wait for it."""

from collections.abc import Callable, Sequence
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import tell_dependents
from lamplighter.adapters.memory.losses import note
from lamplighter.adapters.memory.runs import answer, put
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.retry import TIMED_OUT, AttemptError, RetryAt, after_failure
from lamplighter.domain.run import Outcome, Recorded, Run, Settled, Verdict
from lamplighter.domain.states import RunState, SkipReason

_S = RunState
_NOT_STARTED = (_S.SCHEDULED, _S.BLOCKED, _S.PARKED)

# Where a run stands after an outcome was recorded; a report that finds it there is a repetition.
_AFTER = {
    Verdict.SUCCESS: {_S.SUCCESS},
    Verdict.FAILED: {_S.FAILED, _S.RETRYING, _S.PARKED, _S.CANCELLED},
    Verdict.TIMED_OUT: {_S.TIMED_OUT, _S.RETRYING, _S.PARKED, _S.CANCELLED},
    Verdict.CANCELLED: {_S.CANCELLED},
    Verdict.RELEASED: {_S.SCHEDULED, _S.PARKED, _S.CANCELLED},
}


class MemoryOutcomes(Transactional):
    def finish(self, outcomes: Sequence[Outcome]) -> list[Settled]:
        with self._transaction() as books:
            return [_finish_one(books, outcome, self._draw) for outcome in outcomes]

    def free_dependents(self, upstream_runs: Sequence[UUID]) -> list[Settled]:
        with self._transaction() as books:
            known = [books.runs[run_id] for run_id in upstream_runs if run_id in books.runs]
            return [answer(run, Recorded.ACCEPTED) for run in tell_dependents(books, known)]

    def skip(self, run_ids: Sequence[UUID], reason: SkipReason) -> list[Settled]:
        with self._transaction() as books:
            return [_skip_one(books, run_id, reason) for run_id in run_ids]


def _finish_one(books: Books, outcome: Outcome, draw: Callable[[], float]) -> Settled:
    run = books.runs.get(outcome.run_id)
    if run is None:
        return Settled(outcome.run_id, None, Recorded.STALE, None)
    if run.fence != outcome.fence or run.state not in (_S.RUNNING, _S.CANCELLING):
        same = run.fence == outcome.fence and run.state in _AFTER[outcome.verdict]
        return answer(run, Recorded.REPEATED if same else Recorded.STALE)
    if outcome.verdict not in (Verdict.SUCCESS, Verdict.RELEASED):
        note(books, transitions.attempt_of(run, outcome.verdict.value, outcome.error, books.now))
    return answer(put(books, _after(books, run, outcome, draw)), Recorded.ACCEPTED)


def _after(books: Books, run: Run, outcome: Outcome, draw: Callable[[], float]) -> Run:
    now, stopping = books.now, run.state is _S.CANCELLING
    match outcome.verdict:
        case Verdict.SUCCESS:
            return transitions.ended(run, _S.SUCCESS, outcome, now)
        case Verdict.RELEASED if not stopping:
            return transitions.released(run, now)
        case Verdict.FAILED | Verdict.TIMED_OUT if not stopping:
            return _after_failure(books, run, outcome, draw)
        case _ if stopping:
            return transitions.ended(run, _S.CANCELLED, outcome, now)
        case _:  # the worker says cancelled, and nobody had asked: it stopped by itself
            return transitions.ended(transitions.cancelling(run, now), _S.CANCELLED, outcome, now)


def _after_failure(books: Books, run: Run, outcome: Outcome, draw: Callable[[], float]) -> Run:
    job = books.jobs[run.job_id]
    kind = TIMED_OUT if outcome.verdict is Verdict.TIMED_OUT else "failed"
    ruling = after_failure(
        attempt_number=run.attempt_number,
        max_retries=job.max_retries,
        error=AttemptError(kind, outcome.error or "", outcome.retryable),
        backoff=job.policy.backoff,
        failed_at=books.now,
        draw=draw(),
    )
    if isinstance(ruling, RetryAt):
        return transitions.retrying(run, ruling, outcome, books.now)
    return transitions.ended(run, ruling.state, outcome, books.now)


def _skip_one(books: Books, run_id: UUID, reason: SkipReason) -> Settled:
    run = books.runs.get(run_id)
    if run is None:
        return Settled(run_id, None, Recorded.STALE, None)
    if run.state in _NOT_STARTED:
        after = transitions.skipped(run, reason, books.now)
        return answer(put(books, after), Recorded.ACCEPTED)
    repeated = run.state is _S.SKIPPED and run.reason is reason
    return answer(run, Recorded.REPEATED if repeated else Recorded.STALE)
