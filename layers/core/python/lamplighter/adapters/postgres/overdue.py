"""What has waited too long: blocked, parked and held runs, and slots that nobody handed on."""

from datetime import UTC, datetime
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.dependents import judge_in_pages, tell_dependents
from lamplighter.adapters.postgres.keys import Keys
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.run import Recorded, Run, Settled, stands
from lamplighter.domain.states import RunState, SkipReason

_HORIZON = queries("horizon")
_FIRST = datetime.min.replace(tzinfo=UTC)
_NOBODY_DECIDED = "held for a week, and nobody decided"
_DECISIONS = (RunState.SCHEDULED, RunState.SUCCESS, RunState.FAILED)


class PostgresOverdue:
    _db: Database

    # Each call goes on where the last one stopped, and from the start at the end.
    _rechecked_to: str = ""
    _judged_to: datetime = _FIRST

    def settle_overdue(self, limit: int = 1000) -> list[Settled]:
        after = self._rechecked_to
        self._rechecked_to = self._db.run(lambda cursor: _recheck_keys(cursor, after, limit))
        rows = self._db.statement(_HORIZON["overdue"], {"limit": limit})
        overdue = [row[0] for row in rows]
        blocked = [*overdue, *self._blocked(limit)]
        settled: list[Settled] = []
        if blocked:
            settled += judge_in_pages(self._db, blocked)
        if overdue:
            settled += self._db.run(lambda cursor: _settle_waiting(cursor, overdue))
        return settled

    def _blocked(self, limit: int) -> list[UUID]:
        """Some whose time has come: the word that their upstreams have ended may be lost."""
        rows = self._db.statement(_HORIZON["blocked"], {"after": self._judged_to, "limit": limit})
        self._judged_to = rows[-1][1] if len(rows) >= limit else _FIRST
        return [row[0] for row in rows]

    def decide_held(self, tenant: str, run_id: UUID, state: RunState) -> Settled:
        if state not in _DECISIONS:
            raise ValueError(f"a held run becomes SCHEDULED, SUCCESS or FAILED, not {state.name}")
        return self._db.run(lambda cursor: _decide(cursor, tenant, run_id, state))


def _recheck_keys(cursor: Cursor[Row], after: str, limit: int) -> str:
    """Hand on what is free of some keys; answers where to go on, from the start at the end."""
    found = Keys(cursor).first_in_line(after, limit)
    LockedRuns(cursor, ()).lock_and_hand_on({key for key, is_parked in found if is_parked})
    return found[-1][0] if len(found) == limit else ""


def _settle_waiting(cursor: Cursor[Row], run_ids: list[UUID]) -> list[Settled]:
    locked = LockedRuns(cursor, run_ids)
    due = [run for run in locked.runs.values() if run.wake_at and run.wake_at <= locked.now]
    after = [changed for run in due if (changed := _give_up(locked, run))]
    locked.write()
    # Nobody reports these ends, so nobody else would tell those that wait for them.
    told = tell_dependents(cursor, [run.run_id for run in after])
    return [stands(run, Recorded.ACCEPTED) for run in after] + told


def _give_up(locked: LockedRuns, run: Run) -> Run | None:
    if run.state is RunState.PARKED:
        return locked.put(transitions.skipped(run, SkipReason.EXPIRED, locked.now))
    if run.state is RunState.HELD:
        failed = transitions.decided(run, RunState.FAILED, locked.now, _NOBODY_DECIDED)
        return locked.put(failed)
    return None


def _decide(cursor: Cursor[Row], tenant: str, run_id: UUID, state: RunState) -> Settled:
    locked = LockedRuns(cursor, [run_id])
    run = locked.runs.get(run_id)
    if run is None or run.tenant != tenant:
        return Settled(run_id, None, Recorded.STALE, None)
    if run.state is not RunState.HELD:
        return stands(run, Recorded.REPEATED if run.state is state else Recorded.STALE)
    after = locked.put(transitions.decided(run, state, locked.now))
    locked.write()
    return stands(after, Recorded.ACCEPTED)
