"""What has waited too long: blocked, parked and held runs; and what a person says of held ones."""

from uuid import UUID

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.dependents import judge_blocked, tell_dependents
from lamplighter.adapters.memory.runs import answer, put
from lamplighter.adapters.memory.slots import hand_on
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.run import Recorded, Run, Settled
from lamplighter.domain.states import RunState, SkipReason

NOBODY_DECIDED = "held for a week, and nobody decided"
_WAITING = (RunState.BLOCKED, RunState.PARKED, RunState.HELD)
_DECISIONS = (RunState.SCHEDULED, RunState.SUCCESS, RunState.FAILED)


class MemoryOverdue(Transactional):
    def settle_overdue(self, limit: int = 1000) -> list[Settled]:
        with self._transaction() as books:
            for key in sorted(books.queues):
                hand_on(books, key)
            overdue = _overdue(books)[:limit]
            ended = judge_blocked(books, [run.run_id for run in overdue] + _blocked(books))
            given_up = [
                _give_up(books, run) for run in overdue if run.state is not RunState.BLOCKED
            ]
            # Nobody reports these ends, so nobody else would tell those that wait for them.
            ended += given_up + tell_dependents(books, given_up)
            return [answer(run, Recorded.ACCEPTED) for run in ended]

    def decide_held(self, tenant: str, run_id: UUID, state: RunState) -> Settled:
        if state not in _DECISIONS:
            raise ValueError(f"a held run becomes SCHEDULED, SUCCESS or FAILED, not {state.name}")
        with self._transaction() as books:
            run = books.runs.get(run_id)
            if run is None or run.tenant != tenant:
                return Settled(run_id, None, Recorded.STALE, None)
            if run.state is not RunState.HELD:
                return answer(run, Recorded.REPEATED if run.state is state else Recorded.STALE)
            after = transitions.decided(run, state, books.now)
            return answer(put(books, after), Recorded.ACCEPTED)


def _overdue(books: Books) -> list[Run]:
    waiting = [
        (run.wake_at, run.run_id)
        for run in books.runs.values()
        if run.state in _WAITING and run.wake_at is not None and run.wake_at <= books.now
    ]
    return [books.runs[run_id] for _, run_id in sorted(waiting)]


def _blocked(books: Books) -> list[UUID]:
    """Those whose time has come: their upstreams may have ended, and the word of it been lost.

    Of those that have waited too long, `_overdue` has as many as are settled at once.
    """
    runs = [run for run in books.runs.values() if run.state is RunState.BLOCKED]
    return [
        run.run_id
        for run in runs
        if run.fire_at <= books.now and (run.wake_at is None or run.wake_at > books.now)
    ]


def _give_up(books: Books, run: Run) -> Run:
    if run.state is RunState.PARKED:
        return put(books, transitions.skipped(run, SkipReason.EXPIRED, books.now))
    return put(books, transitions.decided(run, RunState.FAILED, books.now, NOBODY_DECIDED))
