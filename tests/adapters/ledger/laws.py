"""What must hold after every step, whatever was done: checked on what the ledgers tell."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from lamplighter.adapters.memory.ledger import MemoryLedger
from lamplighter.adapters.memory.slots import key_state
from lamplighter.domain.job import Job
from lamplighter.domain.run import Run, Settled
from lamplighter.domain.slots import hand_over, slot_keys
from lamplighter.domain.states import EDGES, RunState
from lamplighter.ports.ledger import Ledger

_AT_WORK = (RunState.RUNNING, RunState.CANCELLING)
_MOST_STEPS = 3  # that one call can take a run along


class Laws:
    def __init__(self, ledgers: Sequence[Ledger]) -> None:
        self._memory = [ledger for ledger in ledgers if isinstance(ledger, MemoryLedger)]
        self._before: dict[UUID, Run] = {}
        self._completions = Counter[UUID]()

    def accepted(self, settled: Settled) -> None:
        """A run is completed once: of all reports that end it, one is accepted."""
        if settled.state is not None and settled.state.is_final:
            self._completions[settled.run_id] += 1
            assert self._completions[settled.run_id] == 1

    def check(self, runs: Sequence[Run], jobs: Sequence[Job]) -> None:
        for run in runs:
            self._check_step(run)
        self._before |= {run.run_id: run for run in runs}
        _check_limits(runs, jobs)
        for ledger in self._memory:
            _check_queues(ledger, runs)

    def _check_step(self, run: Run) -> None:
        """States change only along the edges, and a fence never falls."""
        before = self._before.get(run.run_id)
        if before is not None:
            assert run.fence >= before.fence
            assert run.state in _reached(before.state)


def _reached(state: RunState) -> set[RunState]:
    reached = {state}
    for _ in range(_MOST_STEPS):
        reached |= {further for each in reached for further in EDGES[each]}
    return reached


def _check_limits(runs: Sequence[Run], jobs: Sequence[Job]) -> None:
    """No key has more runs at work than it allows."""
    by_id = {job.job_id: job for job in jobs}
    keys = [
        key
        for run in runs
        if run.state in _AT_WORK
        for key in slot_keys(by_id[run.job_id], run.pool, run.origin)
    ]
    for key, count in Counter(keys).items():
        assert count <= key.limit, f"{count} at work under {key.name}"


def _check_queues(ledger: MemoryLedger, runs: Sequence[Run]) -> None:
    """Whoever is parked waits in a line, and nobody waits for a slot that is free to take."""
    books = ledger._books
    waiting = {place.run_id for places in books.queues.values() for place in places}
    assert {run.run_id for run in runs if run.state is RunState.PARKED} <= waiting
    for key in books.queues:
        assert hand_over(key_state(books, key)) == []
    assert all(len(holders) == len(set(holders.values())) for holders in books.holders.values())
