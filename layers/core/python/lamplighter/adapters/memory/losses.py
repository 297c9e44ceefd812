"""Workers that fell silent, and what becomes of the runs that they had."""

from collections.abc import Collection, Sequence
from datetime import timedelta
from uuid import UUID

import msgspec

from lamplighter.adapters.memory.books import Books, Claim
from lamplighter.adapters.memory.dependents import tell_dependents
from lamplighter.adapters.memory.runs import answer, put
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.job import DEFAULT_POOL
from lamplighter.domain.retry import after_loss
from lamplighter.domain.run import Attempt, Recorded, Run, Settled
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger import SilentWorker

# Outcomes that the bus has acknowledged are the recorder's to write, for this long.
LEFT_TO_RECORDER = timedelta(minutes=10)


class MemoryLosses(Transactional):
    def mark_reported(self, claim_ids: Sequence[UUID]) -> None:
        with self._transaction() as books:
            for claim_id in claim_ids:
                claim = books.claims.get(claim_id)
                if claim is not None and claim.reported_at is None:
                    books.claims[claim_id] = msgspec.structs.replace(claim, reported_at=books.now)

    def requeue_lost(self, silence: timedelta) -> list[Settled]:
        with self._transaction() as books:
            silent = {name for name, beat in books.workers.items() if beat < books.now - silence}
            lost = [claim for claim in books.claims.values() if _is_lost(books, claim, silent)]
            runs = {run.run_id: run for claim in lost for run in _still_held(books, claim)}
            after = [_lose(books, runs[run_id]) for run_id in sorted(runs)]
            # No worker reports these ends, so nobody else would tell those that wait for them.
            after += tell_dependents(books, [run for run in after if run.state.is_final])
            _forget_done(books)
            return [answer(run, Recorded.ACCEPTED) for run in after]

    def forget_workers(self, silence: timedelta) -> list[SilentWorker]:
        with self._transaction() as books:
            busy = {claim.worker_id for claim in books.claims.values()}
            beats = [(name, beat) for name, beat in books.workers.items() if name not in busy]
            silent = [(name, beat) for name, beat in beats if beat < books.now - silence]
            for name, _ in silent:
                del books.workers[name]
                books.capacities.pop(name, None)
            return [
                SilentWorker(name, books.pools.pop(name, DEFAULT_POOL), beat)
                for name, beat in silent
            ]

    def is_any_running(self) -> bool:
        with self._transaction() as books:
            return any(_still_held(books, claim) for claim in books.claims.values())

    def busy_pools(self, pools: Collection[str]) -> set[str]:
        with self._transaction() as books:
            at_work = [each for each in books.claims.values() if each.reported_at is None]
            held = (run.pool for claim in at_work for run in _still_held(books, claim))
            return {pool for pool in held if pool in pools}


def _is_lost(books: Books, claim: Claim, silent: set[str]) -> bool:
    if claim.reported_at is not None:
        return claim.reported_at < books.now - LEFT_TO_RECORDER
    return claim.worker_id in silent


def _still_held(books: Books, claim: Claim) -> list[Run]:
    """The fence tells a run of this claim from the same run in a later one."""
    held = (books.runs.get(run_id) for run_id in claim.fences)
    active = (RunState.RUNNING, RunState.CANCELLING)
    return [
        run for run in held if run and run.state in active and run.fence == claim.fences[run.run_id]
    ]


def _lose(books: Books, run: Run) -> Run:
    if run.state is RunState.CANCELLING:
        return put(books, transitions.cancelled(run, books.now, run.error_message))
    note(books, transitions.attempt_of(run, "lost", "the worker fell silent", books.now))
    policy = books.jobs[run.job_id].policy
    ruling = after_loss(losses=run.losses + 1, on_ambiguous=policy.on_ambiguous)
    return put(books, transitions.lost(run, ruling, books.now))


def note(books: Books, attempt: Attempt) -> None:
    books.attempts[attempt.run_id] = (*books.attempts.get(attempt.run_id, ()), attempt)


def _forget_done(books: Books) -> None:
    """Claims with nothing left to look for."""
    done = [key for key, claim in books.claims.items() if not _still_held(books, claim)]
    for claim_id in done:
        del books.claims[claim_id]
