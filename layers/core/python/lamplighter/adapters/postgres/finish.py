"""Outcomes: ordinary successes in one statement, everything else judged under lock."""

import random
from collections.abc import Mapping, Sequence
from uuid import UUID

from psycopg import Cursor

from lamplighter.adapters.postgres.alone import FINISH, Order, keys_to_free, under_lock
from lamplighter.adapters.postgres.arrays import (
    PackedArray,
    column,
    instants,
    ints,
    jsons,
    texts,
    uuids,
)
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.one_day import update_runs
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.outcomes import after_outcome, is_awaited, is_repeated, may_skip
from lamplighter.domain.run import Outcome, Recorded, Run, Settled, Verdict, stands
from lamplighter.domain.states import RunState, SkipReason

_SQL = queries("finish")


class PostgresOutcomes:
    _db: Database
    _finish_order: Order

    def finish(self, outcomes: Sequence[Outcome]) -> list[Settled]:
        first = {outcome.run_id.int: outcome for outcome in reversed(outcomes)}
        if len(first) < len(outcomes):
            return self._finish_in_turn(outcomes)
        settled = self._finish_simple([o for o in outcomes if o.verdict is Verdict.SUCCESS])
        rest = _open(outcomes, settled)
        if rest:
            settled |= self._db.run(lambda cursor: _finish_judged(cursor, rest))
        return [settled[outcome.run_id.int] for outcome in outcomes]

    def _finish_in_turn(self, outcomes: Sequence[Outcome]) -> list[Settled]:
        """A run that is reported twice in one batch: the second report finds the first."""
        answers: list[Settled] = []
        batch: dict[int, Outcome] = {}
        for outcome in outcomes:
            if outcome.run_id.int in batch:
                answers += self.finish(list(batch.values()))
                batch = {}
            batch[outcome.run_id.int] = outcome
        return answers + self.finish(list(batch.values()))

    def _finish_simple(self, successes: Sequence[Outcome]) -> dict[int, Settled]:
        if self._finish_order.alone_first:
            alone = self._finish_alone(successes)
            plain = self._finish_plain(_open(successes, alone))
        else:
            plain = self._finish_plain(successes)
            alone = self._finish_alone(_open(successes, plain))
        self._finish_order.learn(plain=len(plain), alone=len(alone))
        return plain | alone

    def _finish_plain(self, outcomes: Sequence[Outcome]) -> dict[int, Settled]:
        if not outcomes:
            return {}
        ordered = sorted(outcomes, key=lambda outcome: outcome.run_id.int)
        ids = [outcome.run_id for outcome in ordered]
        rows = update_runs(self._db, _SQL["finish_plain"], ids, _reported(ordered))
        return _succeeded(ordered, rows)

    def _finish_alone(self, successes: Sequence[Outcome]) -> dict[int, Settled]:
        keys = keys_to_free(self._db, [o.run_id for o in successes])
        if not keys:
            return {}
        ordered = sorted((o for o in successes if o.run_id in keys), key=lambda o: o.run_id.int)
        held, reported = [keys[o.run_id] for o in ordered], _reported(ordered)
        rows = self._db.run(lambda cursor: under_lock(cursor, FINISH, held, reported))
        return _succeeded(ordered, rows)

    def skip(self, run_ids: Sequence[UUID], reason: SkipReason) -> list[Settled]:
        def work(cursor: Cursor[Row]) -> list[Settled]:
            locked = LockedRuns(cursor, run_ids)
            settled = [_skip(locked, run_id, reason) for run_id in run_ids]
            locked.write()
            return settled

        return self._db.run(work)


def _reported(outcomes: Sequence[Outcome]) -> dict[str, PackedArray]:
    return {
        "run_ids": uuids(o.run_id for o in outcomes),
        "fences": ints(o.fence for o in outcomes),
        "ended_ats": column(instants, (o.ended_at for o in outcomes)),
        "results": column(jsons, (o.result for o in outcomes)),
        "stdouts": column(texts, (o.stdout for o in outcomes)),
        "stderrs": column(texts, (o.stderr for o in outcomes)),
        "log_urls": column(texts, (o.log_url for o in outcomes)),
    }


def _succeeded(outcomes: Sequence[Outcome], rows: Sequence[Row]) -> dict[int, Settled]:
    accepted, success = Recorded.ACCEPTED, RunState.SUCCESS
    ended = ((outcomes[n].run_id, job_id) for n, job_id in rows)
    return {run.int: Settled(run, job_id, accepted, success) for run, job_id in ended}


def _open(outcomes: Sequence[Outcome], settled: Mapping[int, Settled]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.run_id.int not in settled]


def _finish_judged(cursor: Cursor[Row], outcomes: Sequence[Outcome]) -> dict[int, Settled]:
    locked = LockedRuns(cursor, {outcome.run_id for outcome in outcomes})
    settled: dict[int, Settled] = {}
    for outcome in outcomes:
        run = locked.runs.get(outcome.run_id)
        if run is None:
            settled[outcome.run_id.int] = Settled(outcome.run_id, None, Recorded.STALE, None)
        elif outcome.run_id.int not in settled:
            settled[outcome.run_id.int] = _settle(locked, run, outcome)
    locked.write()
    return settled


def _settle(locked: LockedRuns, run: Run, outcome: Outcome) -> Settled:
    if not is_awaited(run, outcome):
        repeated = is_repeated(run, outcome)
        return stands(run, Recorded.REPEATED if repeated else Recorded.STALE)
    if outcome.verdict is not Verdict.SUCCESS and outcome.verdict is not Verdict.RELEASED:
        attempt = transitions.attempt_of(run, outcome.verdict.value, outcome.error, locked.now)
        locked.note(attempt)
    draw = random.random()  # noqa: S311 - spreads retries, guards nothing
    after = after_outcome(run, locked.jobs[run.run_id], outcome, locked.now, draw)
    return stands(locked.put(after), Recorded.ACCEPTED)


def _skip(locked: LockedRuns, run_id: UUID, reason: SkipReason) -> Settled:
    run = locked.runs.get(run_id)
    if run is None:
        return Settled(run_id, None, Recorded.STALE, None)
    if may_skip(run):
        return stands(locked.put(transitions.skipped(run, reason, locked.now)), Recorded.ACCEPTED)
    repeated = run.state is RunState.SKIPPED and run.reason is reason
    return stands(run, Recorded.REPEATED if repeated else Recorded.STALE)
