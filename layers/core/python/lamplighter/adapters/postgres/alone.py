"""Runs that must not overlap with another of their own job, and need nothing else.

Every recurring job is like that unless it says otherwise, and at second 0 a thousand of them are
due. So they have a way nearly as short as that of jobs without any key: where the slot is free and
nobody waits for it, one statement takes it with the run, and one gives it up with the run's end.
The keys are locked first, as everybody does; whatever is not that simple is judged.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.arrays import texts, uuids
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.keys import Keys
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain.slots import SlotKind, kind_of

_PEEK: Final = queries("alone")["alone"]
_HOLD: Final = queries("slots")["keys_of_runs"]
# A run that holds no slot yet, of a job that has the overlap key alone; the key is locked by now.
_FREE: Final = b"""AND j.overlap IN ('forbid', 'replace') AND j.ordering_key IS NULL
          AND j.max_concurrency IS NULL
          AND NOT EXISTS (SELECT FROM slots AS s WHERE s.key = w.key AND s.n > 0)
          AND NOT EXISTS (SELECT FROM slot_queue AS q WHERE q.key = w.key)"""
# A run that holds that slot, for which nobody waits.
_HELD: Final = b"""r.slotted AND given.key IS NOT NULL
          AND NOT EXISTS (SELECT FROM slot_queue AS q WHERE q.key = given.key)"""


class Order:
    """Which way a batch tries first: the one that most of the last batch went."""

    def __init__(self) -> None:
        self.alone_first = False

    def learn(self, *, plain: int, alone: int) -> None:
        if plain != alone:
            self.alone_first = alone > plain


def _changed(query: bytes, changes: Mapping[bytes, bytes]) -> bytes:
    for old, new in changes.items():
        if query.count(old) != 1:
            raise ValueError(f"the statement does not say {old.decode()} once")
        query = query.replace(old, new)
    return query


CLAIM: Final = _changed(
    queries("claim")["claim_plain"],
    {
        b"AS fence,": b"AS fence, unnest(%(keys)s) AS key,",
        b"wake_at = NULL": b"wake_at = NULL, slotted = true",
        b"AND NOT j.keyed": _FREE,
        b"j.payload::text": b"j.payload::text, w.key",
        b"batch AS (": b"taken AS (\n    INSERT INTO slots (key, n, run_id) "
        b"SELECT key, 1, run_id FROM claimed\n), batch AS (",
    },
)
FINISH: Final = _changed(
    queries("finish")["finish_plain"],
    {
        b"UPDATE job_runs AS r": b"WITH ended AS (\nUPDATE job_runs AS r",
        b"AS fence,": b"AS fence, unnest(%(keys)s) AS key,",
        b"NOT r.slotted": _HELD,
        b"RETURNING given.n, r.job_id": b"RETURNING given.n, r.run_id, r.job_id, given.key\n"
        b"), freed AS (\n    DELETE FROM slots USING ended "
        b"WHERE slots.key = ended.key AND slots.run_id = ended.run_id\n)\n"
        b"SELECT n, job_id FROM ended",
    },
)


def keys_to_take(database: Database, run_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Of the runs that may go this way, each with its key: the first of each job."""
    if not run_ids:
        return {}
    params = {"run_ids": uuids(run_ids), "first": min(run_ids), "last": max(run_ids)}
    first: dict[str, UUID] = {}
    for run_id, key in database.statement(_PEEK, params):
        first.setdefault(key, run_id)
    return {run_id: key for key, run_id in first.items()}


def keys_to_free(database: Database, run_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Of those that hold the slot of their own job, and nothing else, each with its key."""
    held: dict[UUID, list[str]] = {}
    if run_ids:
        for key, run_id in database.statement(_HOLD, {"run_ids": uuids(run_ids)}):
            held.setdefault(run_id, []).append(key)
    return {
        run_id: keys[0]
        for run_id, keys in held.items()
        if len(keys) == 1 and kind_of(keys[0]) is SlotKind.OVERLAP
    }


def under_lock(
    cursor: Cursor[Row], query: bytes, keys: Sequence[str], given: Mapping[str, Any]
) -> list[Row]:
    Keys(cursor).lock(keys)
    return cursor.execute(query, {**given, "keys": texts(keys)}, binary=True).fetchall()
