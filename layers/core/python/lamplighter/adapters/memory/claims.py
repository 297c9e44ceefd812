"""Claims: each run judged in turn, then given its slots, parked, or turned away."""

from collections.abc import Sequence
from uuid import UUID

from lamplighter.adapters.memory import slots
from lamplighter.adapters.memory.books import Books, Claim
from lamplighter.adapters.memory.dependents import tell_dependents
from lamplighter.adapters.memory.runs import answer, put
from lamplighter.adapters.memory.transaction import Transactional
from lamplighter.domain import transitions
from lamplighter.domain.judge import Cancel, MayStart, Skip, Turned, expiry, judge
from lamplighter.domain.outcomes import as_claimed
from lamplighter.domain.run import ClaimAnswer, Recorded, Refusal, Run, Ticket
from lamplighter.domain.slots import Granted, MustWait, Refused, slot_keys, take_slots
from lamplighter.domain.states import RunState, SkipReason

REPLACED = "replaced by a later fire"
OVERLAPPED = "another run of this job had begun meanwhile"


class MemoryClaims(Transactional):
    def claim(self, worker_id: str, claim_id: UUID, tickets: Sequence[Ticket]) -> ClaimAnswer:
        with self._transaction() as books:
            books.workers[worker_id] = books.now
            refused: dict[UUID, Refusal] = {}
            ended: list[Run] = []
            for ticket in _newest(tickets):
                why = _claim_one(books, worker_id, claim_id, ticket, ended)
                if why is not None:
                    refused[ticket.run_id] = why
                if why in (Refusal.SKIPPED, Refusal.CANCELLED):
                    ended.append(books.runs[ticket.run_id])
            given = sorted({ticket.run_id for ticket in tickets} - refused.keys())
            runs = [books.runs[run_id] for run_id in given]
            claimed = [as_claimed(run, books.jobs[run.job_id]) for run in runs]
            ends = [answer(run, Recorded.ACCEPTED) for run in ended]
            return ClaimAnswer(claimed, refused, _to_stop(books, worker_id), ends)

    def heartbeat(self, worker_id: str, pool: str, capacity: int) -> list[UUID]:
        with self._transaction() as books:
            books.workers[worker_id] = books.now
            books.pools[worker_id] = pool
            books.capacities[worker_id] = capacity
            return _to_stop(books, worker_id)


def _newest(tickets: Sequence[Ticket]) -> list[Ticket]:
    """By run id; of two tickets for one run, the one with the later fence."""
    ordered = sorted(tickets, key=lambda ticket: (ticket.run_id, ticket.fence))
    return list({ticket.run_id: ticket for ticket in ordered}.values())


def _claim_one(
    books: Books, worker_id: str, claim_id: UUID, ticket: Ticket, ended: list[Run]
) -> Refusal | None:
    """None: the run is this worker's now, or was given to it by this very claim."""
    run = books.runs.get(ticket.run_id)
    if run is None:
        return Refusal.GONE
    claim = books.claims.get(claim_id, Claim(worker_id, {}))
    if run.state is RunState.RUNNING and claim.fences.get(run.run_id) == run.fence:
        return None
    why = _judge_one(books, run, ticket.fence) or _take_slots(books, run, ended)
    if why is None:
        run = put(books, transitions.started(books.runs[run.run_id], worker_id, books.now))
        books.claims[claim_id] = Claim(worker_id, {**claim.fences, run.run_id: run.fence})
    return why


def _judge_one(books: Books, run: Run, fence: int) -> Refusal | None:
    job = books.jobs[run.job_id]
    match judge(run, job, fence, books.now, books.calendars_of(job.tenant)):
        case MayStart():
            return None
        case Turned(why):
            return why
        case Skip(reason):
            put(books, transitions.skipped(run, reason, books.now))
            return Refusal.SKIPPED
        case Cancel():
            put(books, transitions.cancelled(run, books.now))
            return Refusal.CANCELLED


def _take_slots(books: Books, run: Run, ended: list[Run]) -> Refusal | None:
    job = books.jobs[run.job_id]
    slots.queue_in_order(books, job, run)
    keys = slot_keys(job, run.pool, run.origin)
    ruling = take_slots(run.run_id, job.overlap, keys, slots.key_states(books, keys))
    if isinstance(ruling, Refused):
        return _overlapping(books, run)
    for key, slot in ruling.taken:
        slots.take(books, key.name, slot, run)
    if isinstance(ruling, Granted):
        return None
    ended += _park(books, run, ruling)
    return Refusal.PARKED


def _overlapping(books: Books, run: Run) -> Refusal:
    """A fire that must not overlap is skipped; a retry, which an edit took by surprise, ends."""
    if run.start_time is not None:
        put(books, transitions.cancelled(run, books.now, OVERLAPPED))
        return Refusal.CANCELLED
    put(books, transitions.skipped(run, SkipReason.OVERLAP, books.now))
    return Refusal.SKIPPED


def _park(books: Books, run: Run, ruling: MustWait) -> list[Run]:
    """Answers with what had to make way, as far as that has ended, and whom it decided."""
    until = expiry(run, books.jobs[run.job_id])
    put(books, transitions.parked(run, books.now, until))
    slots.join_queue(books, ruling.key, run)
    rivals = [_replace(books, books.runs[rival]) for rival in ruling.replaces]
    ended = [rival for rival in rivals if rival.state.is_final]
    # They are not among the refused, so nobody else would tell their dependents.
    return ended + tell_dependents(books, ended)


def _replace(books: Books, rival: Run) -> Run:
    """Make way for a later fire: what runs is asked to stop, what waits ends."""
    if rival.state is RunState.CANCELLING:
        return rival
    if rival.state is RunState.RUNNING:
        return put(books, transitions.cancelling(rival, books.now, REPLACED))
    if rival.start_time is None:
        return put(books, transitions.skipped(rival, SkipReason.OVERLAP, books.now, REPLACED))
    return put(books, transitions.cancelled(rival, books.now, REPLACED))


def _to_stop(books: Books, worker_id: str) -> list[UUID]:
    return sorted(run_id for run_id, told in books.stopping.items() if told == worker_id)
