"""Runs under lock: read together with their jobs and keys, judged in Python, written back at once.

Locks are taken in one order by everybody: keys by name, then runs by id. Which keys there are is
peeked at without a lock, so it is checked again under it; when they have moved, the transaction
starts over.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import texts, uuids
from lamplighter.adapters.postgres.codec import (
    RUN_WIDTH,
    attempts_to_columns,
    row_to_job,
    row_to_run,
    runs_to_columns,
)
from lamplighter.adapters.postgres.database import Moved, Row
from lamplighter.adapters.postgres.keys import Keys, names_of
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.job import Job
from lamplighter.domain.policy import Overlap
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.slots import (
    KEPT_WHILE_WAITING,
    KeyState,
    SlotKey,
    SlotKind,
    hand_over,
    kept_after_an_edit,
    slot_keys,
)
from lamplighter.domain.states import RunState

_SQL = queries("runs")


class LockedRuns:
    """The runs asked for, as far as they exist; `put` changes one, `write` makes it so."""

    def __init__(
        self,
        cursor: Cursor[Row],
        run_ids: Iterable[UUID],
        *,
        to_claim: bool = False,
        keys: Collection[str] = (),
    ) -> None:
        """`keys` are locked with those of the runs, for what this transaction does later."""
        self.runs: dict[UUID, Run] = {}
        self.jobs: dict[UUID, Job] = {}
        self._cursor = cursor
        self._keys = Keys(cursor)
        self._slotted: dict[UUID, bool] = {}
        self._changed: dict[UUID, Run] = {}
        self._leaving: dict[UUID, frozenset[str]] = {}
        self._attempts: list[Attempt] = []
        self._lock(set(run_ids), set(keys), to_claim=to_claim)
        self.now: datetime = cursor.execute(b"SELECT clock_timestamp()").fetchall()[0][0]

    def _lock(self, run_ids: set[UUID], more_keys: set[str], *, to_claim: bool) -> None:
        wanted = run_ids | (self._rivals(run_ids) if to_claim else set())
        keys = self._needed_keys(wanted, to_claim=to_claim) | more_keys
        self._keys.lock(keys)
        self._load(wanted)
        # Also where the peek saw none: a run may have been parked since, and to take it out of a
        # line whose key is not locked would pull it from under whoever hands it a slot just now.
        keyed = keys or any(self._slotted.values())
        if keyed and not self._needed_keys(wanted, to_claim=to_claim) <= keys:
            raise Moved
        if to_claim and not self._rivals(run_ids) <= wanted:
            raise Moved

    def _needed_keys(self, run_ids: set[UUID], *, to_claim: bool) -> set[str]:
        needed = names_of(self._keys.of_runs(run_ids))
        if to_claim:
            needed |= {key.name for keys in self._peek(run_ids).values() for key in keys}
        return needed

    def _rivals(self, run_ids: set[UUID]) -> set[UUID]:
        """The runs that these would replace: they must be locked too."""
        contested = {
            key.name
            for (_, overlap), keys in self._peek(run_ids).items()
            for key in keys
            if overlap is Overlap.REPLACE and key.kind is SlotKind.OVERLAP
        }
        states = self._keys.states(contested, depth=10).values()
        holders = {run_id for state in states for run_id in state.holders.values()}
        return holders | {waiter.run_id for state in states for waiter in state.waiting}

    def _peek(self, run_ids: set[UUID]) -> dict[tuple[UUID, Overlap], tuple[SlotKey, ...]]:
        rows = [
            (row[0], row[3], row[4], row_to_job(row[RUN_WIDTH:]))
            for row in self._rows("peek_runs", run_ids)
        ]
        return {
            (run_id, job.overlap): slot_keys(job, pool, origin)
            for run_id, pool, origin, job in rows
        }

    def _rows(self, name: str, run_ids: Iterable[UUID]) -> list[Row]:
        ids = sorted(run_ids)
        if not ids:
            return []
        params = {"run_ids": uuids(ids), "first": ids[0], "last": ids[-1]}
        return self._cursor.execute(_SQL[name], params, binary=True).fetchall()

    def _load(self, run_ids: Iterable[UUID]) -> None:
        for row in self._rows("lock_runs", run_ids):
            run = row_to_run(row)
            self.runs[run.run_id] = run
            self._slotted[run.run_id] = row[RUN_WIDTH - 1]
            self.jobs[run.run_id] = row_to_job(row[RUN_WIDTH:])

    def put(self, run: Run) -> Run:
        """Change a run. What has ended leaves every slot and queue; what waits again, its limit."""
        before = self.runs[run.run_id].state
        self.runs[run.run_id] = self._changed[run.run_id] = run
        if run.state.is_final:
            self._leaving[run.run_id] = frozenset()
        elif before is RunState.RUNNING and run.state is not RunState.CANCELLING:
            self._leaving[run.run_id] = self._kept(run, KEPT_WHILE_WAITING)
        return run

    def _kept(self, run: Run, kinds: Iterable[SlotKind]) -> frozenset[str]:
        """Of these kinds, and only what its job has now.

        Two runs that each held what the other came to need by an edit would wait for ever.
        """
        kept = set(kinds)
        return frozenset(key.name for key in self.keys_of(run) if key.kind in kept)

    def keys_of(self, run: Run) -> tuple[SlotKey, ...]:
        return slot_keys(self.jobs[run.run_id], run.pool, run.origin)

    def note(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)

    def states_of(self, keys: Iterable[SlotKey]) -> dict[str, KeyState]:
        return self._keys.states({key.name for key in keys}, depth=len(self.runs) + 1)

    def join_queue(self, places: Sequence[tuple[SlotKey, Run]]) -> None:
        if places:
            self._mark_slotted(run.run_id for _, run in places)
            self._keys.join_queue(places)

    def take(self, taken: Sequence[tuple[str, int, UUID]]) -> None:
        if taken:
            self._mark_slotted(run_id for _, _, run_id in taken)
            self._keys.take(taken)

    def _mark_slotted(self, run_ids: Iterable[UUID]) -> None:
        for run_id in run_ids:
            if not self._slotted[run_id]:
                self._slotted[run_id] = True
                self._changed.setdefault(run_id, self.runs[run_id])

    def ending(self) -> list[Run]:
        """What the next `write` will end."""
        return [run for run in self._changed.values() if run.state.is_final]

    def write(self) -> None:
        """Write every change, then hand on the slots that were given up."""
        self._write_runs()
        leaving, self._leaving = self._leaving, {}
        slotted = {run_id: kept for run_id, kept in leaving.items() if self._slotted[run_id]}
        self.hand_on(self._keys.leave(slotted))
        self._write_attempts()

    def lock_and_hand_on(self, keys: set[str]) -> None:
        """For keys that none of the runs at hand has: lock them first."""
        self._keys.lock(keys)
        self.hand_on(keys)

    def rekey(self, runs: Sequence[Run]) -> None:
        """After an edit of their job: hold and wait for what they need now, within its limits."""
        for run in runs:
            self._leaving[run.run_id] = self._kept(run, kept_after_an_edit(self.keys_of(run)))
        self.write()
        needed = [(key, run) for run in runs for key in self.keys_of(run)]
        self.join_queue([(key, run) for key, run in needed if key.kind is SlotKind.ORDER])
        self._write_runs()
        for key in {key for key, _ in needed if key.kind is SlotKind.LIMIT}:
            self._keys.relimit(runs[0].job_id, key)
        depth = max((key.limit for key, _ in needed), default=1)
        self.hand_on({key.name for key, _ in needed}, depth)
        self._wake_unqueued([run.run_id for run in runs])

    def _wake_unqueued(self, run_ids: Sequence[UUID]) -> None:
        """Parked for a key that its job no longer has: nobody would hand it a slot."""
        queued = self._keys.queued(run_ids)
        for run in [self.runs[run_id] for run_id in run_ids]:
            if run.state is RunState.PARKED and run.run_id not in queued:
                self.put(transitions.woken(run, self.now))
        self._write_runs()

    def hand_on(self, keys: set[str], depth: int = 1) -> None:
        """Give the free slots of these keys to the first in line, and wake those."""
        states = self._keys.states(keys, depth=max(depth, len(self.runs) + 1))
        handed = [(key, n, run) for key, state in states.items() for n, run in hand_over(state)]
        self._load(run_id for _, _, run_id in handed if run_id not in self.runs)
        self.take(handed)
        # Once, though it may have been first in line for two keys.
        for run_id in dict.fromkeys(run_id for _, _, run_id in handed):
            self.put(transitions.woken(self.runs[run_id], self.now))
        self._write_runs()

    def _write_runs(self) -> None:
        changed, self._changed = list(self._changed.values()), {}
        if not changed:
            return
        slotted = [self._slotted[run.run_id] for run in changed]
        self._cursor.execute(_SQL["write_runs"], runs_to_columns(changed, slotted))
        stopping = [run for run in changed if run.state is RunState.CANCELLING]
        if stopping:
            workers = texts(run.executor_id for run in stopping)
            ids = uuids(run.run_id for run in stopping)
            self._cursor.execute(_SQL["ask_to_stop"], {"run_ids": ids, "worker_ids": workers})
        ended = [run.run_id for run in changed if run.state.is_final]
        if ended:
            self._cursor.execute(_SQL["no_longer_asked"], {"run_ids": uuids(ended)})

    def _write_attempts(self) -> None:
        attempts, self._attempts = self._attempts, []
        if attempts:
            tenants = [self.runs[attempt.run_id].tenant for attempt in attempts]
            self._cursor.execute(_SQL["insert_attempts"], attempts_to_columns(attempts, tenants))
