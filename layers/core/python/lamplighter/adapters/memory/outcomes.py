"""Outcomes: how attempts ended, what that means for the run, and for those that wait for it."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import tell_dependents
from lamplighter.adapters.memory.losses import note
from lamplighter.adapters.memory.runs import answer, put
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.outcomes import after_outcome, is_awaited, is_repeated, may_skip
from lamplighter.domain.run import Outcome, Recorded, Settled, Verdict
from lamplighter.domain.states import RunState, SkipReason

_S = RunState


class MemoryOutcomes(Transactional):
    def finish(self, outcomes: Sequence[Outcome]) -> list[Settled]:
        with self._transaction() as books:
            return [_finish_one(books, outcome, self._draw) for outcome in outcomes]

    def awaited(self, jobs: Mapping[UUID, str]) -> set[UUID]:
        with self._transaction() as books:
            return {job_id for job_id in jobs if books.dependents_of[job_id]}

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
    if not is_awaited(run, outcome):
        repeated = is_repeated(run, outcome)
        return answer(run, Recorded.REPEATED if repeated else Recorded.STALE)
    if outcome.verdict not in (Verdict.SUCCESS, Verdict.RELEASED):
        note(books, transitions.attempt_of(run, outcome.verdict.value, outcome.error, books.now))
    after = after_outcome(run, books.jobs[run.job_id], outcome, books.now, draw())
    return answer(put(books, after), Recorded.ACCEPTED)


def _skip_one(books: Books, run_id: UUID, reason: SkipReason) -> Settled:
    run = books.runs.get(run_id)
    if run is None:
        return Settled(run_id, None, Recorded.STALE, None)
    if may_skip(run):
        after = transitions.skipped(run, reason, books.now)
        return answer(put(books, after), Recorded.ACCEPTED)
    repeated = run.state is _S.SKIPPED and run.reason is reason
    return answer(run, Recorded.REPEATED if repeated else Recorded.STALE)
