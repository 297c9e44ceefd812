"""Claims: the ordinary ones in one statement, the others judged under lock."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from psycopg import Cursor

from lamplighter.adapters.postgres.alone import CLAIM, Order, keys_to_take, under_lock
from lamplighter.adapters.postgres.arrays import instants, ints, uuids
from lamplighter.adapters.postgres.calendars import calendars_of
from lamplighter.adapters.postgres.database import Database, Row
from lamplighter.adapters.postgres.dependents import PostgresDependents, tell_dependents
from lamplighter.adapters.postgres.locked import LockedRuns
from lamplighter.adapters.postgres.one_day import update_runs
from lamplighter.adapters.postgres.queries import queries
from lamplighter.domain import transitions
from lamplighter.domain.ids import fire_of
from lamplighter.domain.judge import Cancel, MayStart, Skip, Turned, expiry, judge
from lamplighter.domain.outcomes import as_claimed
from lamplighter.domain.retry import after_loss
from lamplighter.domain.run import (
    ClaimAnswer,
    Claimed,
    Recorded,
    Refusal,
    Run,
    Settled,
    Ticket,
    stands,
)
from lamplighter.domain.slots import (
    Granted,
    Refused,
    SlotKey,
    SlotKind,
    take_slots,
)
from lamplighter.domain.states import RunState, SkipReason
from lamplighter.ports.ledger import SilentWorker

_SQL = queries("claim")
_decode = msgspec.json.Decoder().decode
_SWEPT_AT_ONCE = 100
REPLACED = "replaced by a later fire"
OVERLAPPED = "another run of this job had begun meanwhile"


class PostgresClaims(PostgresDependents):
    _db: Database
    _claim_order: Order

    def claim(self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]) -> ClaimAnswer:
        claimed, cancelled = self._claim_simple(worker_id, claim_id, tickets)
        rest = {each.run_id: each.fence for each in _without(tickets, claimed)}
        if not rest:
            return ClaimAnswer(claimed, {}, cancelled)
        judged = self._db.run(lambda cursor: _claim_judged(cursor, worker_id, claim_id, rest))
        ended = judged.ended
        replaced = _replaced(ended)
        if replaced:  # once more for whoever began to wait for them in this very moment
            ended += self.free_dependents(replaced)
        stopping = [*cancelled, *(run for run in judged.cancelled if run not in cancelled)]
        return ClaimAnswer(claimed + judged.claimed, judged.refused, stopping, ended)

    def _claim_simple(
        self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]
    ) -> tuple[list[Claimed], list[UUID]]:
        """What needs no judging, and which runs of this worker somebody wants stopped."""
        if self._claim_order.alone_first:
            alone, stopping = self._claim_alone(worker_id, claim_id, tickets)
            if alone and len(alone) == len(tickets):
                return alone, stopping
            plain, too = self._claim_plain(worker_id, claim_id, _without(tickets, alone))
        else:
            plain, stopping = self._claim_plain(worker_id, claim_id, tickets)
            alone, too = self._claim_alone(worker_id, claim_id, _without(tickets, plain))
        self._claim_order.learn(plain=len(plain), alone=len(alone))
        return plain + alone, list({*stopping, *too})

    def _claim_plain(
        self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]
    ) -> tuple[list[Claimed], list[UUID]]:
        ordered = sorted(tickets, key=lambda ticket: ticket.run_id.int)
        ids = [ticket.run_id for ticket in ordered]
        asked = _asked(worker_id, claim_id, ordered)
        return _from_rows(ordered, update_runs(self._db, _SQL["claim_plain"], ids, asked))

    def _claim_alone(
        self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]
    ) -> tuple[list[Claimed], list[UUID]]:
        keys = keys_to_take(self._db, [ticket.run_id for ticket in tickets])
        if not keys:
            return [], []
        # A run may come twice in a batch, and its slot can be taken once: the newest ticket counts.
        newest = {each.run_id: each for each in sorted(tickets, key=lambda each: each.fence)}
        ordered = [newest[run_id] for run_id in sorted(keys)]
        taken = [keys[ticket.run_id] for ticket in ordered]
        asked = _asked(worker_id, claim_id, ordered)
        return _from_rows(
            ordered, self._db.run(lambda cursor: under_lock(cursor, CLAIM, taken, asked))
        )

    def heartbeat(self, worker_id: str, pool: str, capacity: int) -> list[UUID]:
        params = {"worker_id": worker_id, "pool": pool, "capacity": capacity}
        return [row[0] for row in self._db.statement(_SQL["heartbeat"], params)]

    def mark_reported(self, claim_ids: Sequence[UUID]) -> None:
        self._db.statement(_SQL["mark_reported"], {"claim_ids": uuids(claim_ids)})

    def requeue_lost(self, silence: timedelta) -> list[Settled]:
        lost: list[Settled] = []
        # A glance first: nearly always nobody is silent, and nothing needs a transaction.
        while self._db.statement(_SQL["silent_claims"], {"silence": silence, "limit": 1}):
            swept, more = self._db.run(lambda cursor: _sweep_some(cursor, silence))
            lost += swept
            if not more:
                break
        if ended := _ended(lost):  # once more for whoever began to wait in this very moment
            lost += self.free_dependents(ended)
        self._db.statement(_SQL["forget_done_claims"], {})
        self._db.statement(_SQL["forget_unused_keys"], {})
        return lost

    def forget_workers(self, silence: timedelta) -> list[SilentWorker]:
        rows = self._db.statement(_SQL["forget_workers"], {"silence": silence})
        return [SilentWorker(*row) for row in rows]

    def is_any_running(self) -> bool:
        return bool(self._db.statement(_SQL["is_any_running"], {})[0][0])


def _asked(worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]) -> dict[str, Any]:
    return {
        "worker_id": worker_id,
        "claim_id": claim_id,
        "run_ids": uuids(ticket.run_id for ticket in tickets),
        "fences": ints(ticket.fence for ticket in tickets),
        "fires": instants(fire_of(ticket.run_id) for ticket in tickets),
    }


def _without(tickets: Sequence[Ticket], claimed: Sequence[Claimed]) -> list[Ticket]:
    done = {run.run_id for run in claimed}
    return [each for each in tickets if each.run_id not in done]


def _claim_judged(
    cursor: Cursor[Row], worker_id: str, claim_id: UUID, wanted: Mapping[UUID, int]
) -> ClaimAnswer:
    locked = LockedRuns(cursor, wanted, to_claim=True)
    # Under the lock: a repetition may have waited for the very call that it repeats.
    params = {"claim_id": claim_id, "worker_id": worker_id}
    rows = cursor.execute(_SQL["claimed_before"], params, binary=True).fetchall()
    before = {row[0] for row in rows}
    refused = {run: Refusal.GONE for run in wanted if run not in locked.runs}
    ready: list[Run] = []
    claimed: list[Claimed] = []
    for run_id in sorted(wanted.keys() & locked.runs.keys()):
        run = locked.runs[run_id]
        still_held = run.state is RunState.RUNNING and run.executor_id == worker_id
        if run_id in before and still_held:
            claimed.append(as_claimed(run, locked.jobs[run_id]))
            continue
        why = _judge_one(cursor, locked, run, wanted[run_id])
        if why is None:
            ready.append(run)
        else:
            refused[run_id] = why
    started, waiting = _with_slots(locked, ready, worker_id)
    if started:
        ids = {"run_ids": uuids(run.run_id for run in started)}
        cursor.execute(_SQL["record_claim"], params | ids)
    ended = [stands(run, Recorded.ACCEPTED) for run in locked.ending()]
    locked.write()
    # Replaced runs are not among the refused, so nobody else would tell those that wait for them.
    ended += tell_dependents(cursor, _replaced(ended))
    claimed += [as_claimed(run, locked.jobs[run.run_id]) for run in started]
    # A run of this very batch may have made way for a later one of it.
    stopping = [
        run.run_id
        for run in locked.runs.values()
        if run.state is RunState.CANCELLING and run.executor_id == worker_id
    ]
    return ClaimAnswer(claimed, refused | waiting, stopping, ended)


def _replaced(ended: Sequence[Settled]) -> list[UUID]:
    return [each.run_id for each in ended if each.run and each.run.error_message == REPLACED]


def _judge_one(cursor: Cursor[Row], locked: LockedRuns, run: Run, fence: int) -> Refusal | None:
    """None: nothing but a missing slot stands in its way."""
    job = locked.jobs[run.run_id]
    ruling = judge(run, job, fence, locked.now, calendars_of(cursor, job))
    match ruling:
        case MayStart():
            return None
        case Turned(why):
            return why
        case Skip(reason):
            locked.put(transitions.skipped(run, reason, locked.now))
            return Refusal.SKIPPED
        case Cancel():
            locked.put(transitions.cancelled(run, locked.now))
            return Refusal.CANCELLED


def _with_slots(
    locked: LockedRuns, ready: Sequence[Run], worker_id: str
) -> tuple[list[Run], dict[UUID, Refusal]]:
    """Start what gets all its slots; park or skip the rest."""
    keys = {run.run_id: locked.keys_of(run) for run in ready}
    locked.join_queue(
        [(key, run) for run in ready for key in keys[run.run_id] if key.kind is SlotKind.ORDER]
    )
    states = locked.states_of(key for run in ready for key in keys[run.run_id])
    started: list[Run] = []
    refused: dict[UUID, Refusal] = {}
    taken: list[tuple[str, int, UUID]] = []
    places: list[tuple[SlotKey, Run]] = []
    for run in ready:
        ruling = take_slots(run.run_id, locked.jobs[run.run_id].overlap, keys[run.run_id], states)
        if isinstance(ruling, Refused):
            refused[run.run_id] = _overlapping(locked, run)
            continue
        taken += [(key.name, n, run.run_id) for key, n in ruling.taken]
        if isinstance(ruling, Granted):
            started.append(locked.put(transitions.started(run, worker_id, locked.now)))
            continue
        until = expiry(run, locked.jobs[run.run_id])
        locked.put(transitions.parked(run, locked.now, until))
        places.append((ruling.key, run))
        refused[run.run_id] = Refusal.PARKED
        for rival in ruling.replaces:
            _replace(locked, rival)
    locked.take(taken)
    locked.join_queue(places)
    return started, refused


def _overlapping(locked: LockedRuns, run: Run) -> Refusal:
    """A fire that must not overlap is skipped; a retry, which an edit took by surprise, ends."""
    if run.start_time is not None:
        locked.put(transitions.cancelled(run, locked.now, OVERLAPPED))
        return Refusal.CANCELLED
    locked.put(transitions.skipped(run, SkipReason.OVERLAP, locked.now))
    return Refusal.SKIPPED


def _replace(locked: LockedRuns, rival: UUID) -> None:
    """Make way for a later fire: what runs is asked to stop, what waits ends."""
    run = locked.runs[rival]
    if run.state is RunState.RUNNING:
        locked.put(transitions.cancelling(run, locked.now, REPLACED))
    elif run.start_time is None and not run.state.is_final:
        locked.put(transitions.skipped(run, SkipReason.OVERLAP, locked.now, REPLACED))
    elif run.state is not RunState.CANCELLING and not run.state.is_final:
        locked.put(transitions.cancelled(run, locked.now, REPLACED))


def _from_rows(ordered: Sequence[Ticket], rows: Sequence[Row]) -> tuple[list[Claimed], list[UUID]]:
    claimed = [_from_row(ordered[row[0]], row) for row in rows if row[0] is not None]
    return claimed, [row[1] for row in rows if row[0] is None]


def _from_row(ticket: Ticket, row: Row) -> Claimed:
    # Documents come as text: decoding them here costs a third of what the driver's loader does.
    _, job_id, tenant, pool, attempt, delay_ms, name, priority, timeout, target, payload = row
    fire = fire_of(ticket.run_id)
    return Claimed(
        run_id=ticket.run_id,
        job_id=job_id,
        tenant=tenant,
        pool=pool,
        fence=ticket.fence + 1,
        attempt=attempt,
        due_at=fire + timedelta(milliseconds=delay_ms) if delay_ms else fire,
        name=name,
        priority=priority,
        timeout_seconds=timeout,
        target=None if target is None else _decode(target),
        payload=None if payload is None else _decode(payload),
    )


def _sweep_some(cursor: Cursor[Row], silence: timedelta) -> tuple[list[Settled], bool]:
    params = {"silence": silence, "limit": _SWEPT_AT_ONCE}
    claims = cursor.execute(_SQL["silent_claims"], params, binary=True).fetchall()
    claimed = {
        (run_id, worker_id): reported_at
        for _, worker_id, run_ids, reported_at in claims
        for run_id in run_ids
    }
    locked = LockedRuns(cursor, {run_id for run_id, _ in claimed})
    lost = [run for run in locked.runs.values() if _is_held_under(run, claimed)]
    swept = [settled for run in lost if (settled := _lose(locked, run))]
    locked.write()
    silent = {"claim_ids": uuids(row[0] for row in claims), "silence": silence}
    cursor.execute(_SQL["forget_claims"], silent)
    # No worker reports these ends, so nobody else would tell those that wait for them.
    swept += tell_dependents(cursor, _ended(swept))
    return swept, len(claims) == _SWEPT_AT_ONCE


def _ended(settled: Sequence[Settled]) -> list[UUID]:
    return [each.run_id for each in settled if each.state is not None and each.state.is_final]


def _is_held_under(run: Run, claimed: Mapping[tuple[UUID, str], datetime | None]) -> bool:
    """Whether this worker's claim is the one at hand, and not a later one of the same run."""
    claim = (run.run_id, run.executor_id or "")
    if claim not in claimed or run.start_time is None:
        return False
    reported_at = claimed[claim]
    return reported_at is None or run.start_time < reported_at


def _lose(locked: LockedRuns, run: Run) -> Settled | None:
    if run.state is RunState.CANCELLING:
        after = transitions.cancelled(run, locked.now, run.error_message)
    elif run.state is RunState.RUNNING:
        locked.note(transitions.attempt_of(run, "lost", "the worker fell silent", locked.now))
        policy = locked.jobs[run.run_id].policy
        ruling = after_loss(losses=run.losses + 1, on_ambiguous=policy.on_ambiguous)
        after = transitions.lost(run, ruling, locked.now)
    else:
        return None
    return stands(locked.put(after), Recorded.ACCEPTED)
