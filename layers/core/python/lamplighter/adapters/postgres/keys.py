"""Slots and queues of the keys that a transaction has locked, a batch at a time."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import instants, ints, texts, uuids
from lamplighter.adapters.postgres.database import Moved, Row
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.run import Run
from lamplighter.domain.slots import KeyState, SlotKey, Waiter

_SQL = queries("slots")


class Keys:
    def __init__(self, cursor: Cursor[Row]) -> None:
        self._cursor = cursor

    def _read(self, name: str, **params: Any) -> list[Row]:
        return self._cursor.execute(_SQL[name], params, binary=True).fetchall()

    def lock(self, names: Collection[str]) -> None:
        if not names:
            return
        in_order = texts(sorted(names))
        self._cursor.execute(_SQL["make_keys"], {"keys": in_order})
        if len(self._read("lock_keys", keys=in_order)) < len(names):
            raise Moved  # swept away between the two statements, as nobody held them

    def of_runs(self, run_ids: Collection[UUID]) -> list[tuple[str, UUID]]:
        """Every key under which one of these runs holds a slot or waits, with the run."""
        if not run_ids:
            return []
        rows = self._read("keys_of_runs", run_ids=uuids(run_ids))
        return [(key, run_id) for key, run_id in rows]

    def states(self, names: Collection[str], *, depth: int) -> dict[str, KeyState]:
        """Holders, and the first `depth` in line, of each key."""
        states = {name: KeyState({}, []) for name in names}
        if not states:
            return states
        for key, n, run_id in self._read("holders", keys=texts(names)):
            states[key].holders[n] = run_id
        for key, run_id, limit, is_parked in self._read("waiting", keys=texts(names), limit=depth):
            states[key].waiting.append(Waiter(run_id, limit, bool(is_parked)))
        return states

    def first_in_line(self, after: str, limit: int) -> list[tuple[str, bool]]:
        """Some keys after this one, and whether their first in line is parked."""
        rows = self._read("first_in_line", after=after, limit=limit)
        return sorted((key, is_parked) for key, is_parked in rows)

    def relimit(self, job_id: UUID, key: SlotKey) -> None:
        params = {"job_id": job_id, "key": key.name, "limit": key.limit}
        self._cursor.execute(_SQL["relimit"], params)

    def queued(self, run_ids: Collection[UUID]) -> set[UUID]:
        return {row[0] for row in self._read("queued", run_ids=uuids(run_ids))}

    def join_queue(self, places: Sequence[tuple[SlotKey, Run]]) -> None:
        self._cursor.execute(
            _SQL["join_queue"],
            {
                "keys": texts(key.name for key, _ in places),
                "fires": instants(run.fire_at for _, run in places),
                "run_ids": uuids(run.run_id for _, run in places),
                "limits": ints(key.limit for key, _ in places),
            },
        )

    def take(self, taken: Sequence[tuple[str, int, UUID]]) -> None:
        """Occupy these slots; whoever holds a slot no longer waits for it."""
        keys, run_ids = texts(key for key, _, _ in taken), uuids(run for _, _, run in taken)
        self._cursor.execute(_SQL["leave_queue"], {"keys": keys, "run_ids": run_ids})
        numbers = ints(n for _, n, _ in taken)
        self._cursor.execute(
            _SQL["take_slots"], {"keys": keys, "numbers": numbers, "run_ids": run_ids}
        )

    def leave(self, leaving: dict[UUID, frozenset[str]]) -> set[str]:
        """Give up every slot and place of these runs but those under the keys they keep."""
        left = [
            (key, run_id) for key, run_id in self.of_runs(leaving) if key not in leaving[run_id]
        ]
        if left:
            params = {
                "keys": texts(key for key, _ in left),
                "run_ids": uuids(run for _, run in left),
            }
            self._cursor.execute(_SQL["give_up_slots"], params)
            self._cursor.execute(_SQL["leave_queue"], params)
        return {key for key, _ in left}


def names_of(pairs: Iterable[tuple[str, UUID]]) -> set[str]:
    return {key for key, _ in pairs}
