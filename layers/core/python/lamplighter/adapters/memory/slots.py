"""Who holds which slot, who waits for one, and what happens when one is given up."""

from collections.abc import Iterable

from lamplighter.adapters.memory.books import Books, Place
from lamplighter.domain import transitions
from lamplighter.domain.job import Job
from lamplighter.domain.run import Run
from lamplighter.domain.slots import (
    KeyState,
    SlotKey,
    SlotKind,
    Waiter,
    hand_over,
    kept_after_an_edit,
    kind_of,
    lane_of,
    slot_keys,
)
from lamplighter.domain.states import RunState


def key_states(books: Books, keys: Iterable[SlotKey]) -> dict[str, KeyState]:
    return {key.name: key_state(books, key.name) for key in keys}


def key_state(books: Books, name: str) -> KeyState:
    parked = RunState.PARKED
    waiting = [
        Waiter(place.run_id, place.limit, books.runs[place.run_id].state is parked)
        for place in books.queues.get(name, ())
    ]
    return KeyState(dict(books.holders.get(name, {})), waiting)


def take(books: Books, key: str, slot: int, run: Run) -> None:
    """Occupy a slot; whoever holds one no longer waits for it."""
    books.holders[key] = {**books.holders.get(key, {}), slot: run.run_id}
    _leave_queue(books, key, run)
    _remember(books, key, run)


def join_queue(books: Books, key: SlotKey, run: Run) -> None:
    """A place by fire; one that it has already is kept, and so is a slot."""
    places = books.queues.get(key.name, ())
    waits = any(place.run_id == run.run_id for place in places)
    if waits or run.run_id in books.holders.get(key.name, {}).values():
        return
    place = Place(run.fire_at, next(books.arrivals), run.run_id, key.limit)
    books.queues[key.name] = tuple(sorted((*places, place)))
    _remember(books, key.name, run)


def queue_in_order(books: Books, job: Job, run: Run) -> None:
    """An ordered run has its place from the start, so that a later fire cannot be claimed first."""
    for key in slot_keys(job, run.pool, run.origin):
        if key.kind is SlotKind.ORDER:
            join_queue(books, key, run)


def queue_in_lane(books: Books, job: Job, run: Run) -> None:
    """A backfill's run has its place from the start, too; whoever gives a slot up wakes it."""
    if (lane := lane_of(job, run.origin)) is not None:
        join_queue(books, lane, run)


def leave(books: Books, run: Run, kept: frozenset[SlotKind] = frozenset()) -> None:
    """Give up slots and places, but for those of the kinds kept, and hand on what that frees.

    What an edit of the job has made foreign to it is not kept either: two runs that each held what
    the other one came to need would wait for ever.
    """
    own = {key.name for key in slot_keys(books.jobs[run.job_id], run.pool, run.origin)}
    left = [
        key
        for key in sorted(books.keys_of.get(run.run_id, ()))
        if kind_of(key) not in kept or key not in own
    ]
    for key in left:
        _forget(books, key, run)
    for key in left:
        hand_on(books, key)


def hand_on(books: Books, key: str) -> None:
    """Give the free slots of a key to the first in line, and wake those."""
    for slot, run_id in hand_over(key_state(books, key)):
        run = books.runs[run_id]
        take(books, key, slot, run)
        books.runs[run_id] = transitions.woken(run, books.now)


def rekey(books: Books, job: Job, run: Run) -> None:
    """After an edit of its job: wait for what the run needs now, under the limits of now."""
    keys = slot_keys(job, run.pool, run.origin)
    leave(books, run, kept=kept_after_an_edit(keys))
    queue_in_order(books, job, run)
    for key in keys:
        _relimit(books, key, run)
        hand_on(books, key.name)
    run = books.runs[run.run_id]
    if run.state is RunState.PARKED and not _waits(books, run):
        books.runs[run.run_id] = transitions.woken(run, books.now)


def _relimit(books: Books, key: SlotKey, run: Run) -> None:
    places = books.queues.get(key.name, ())
    books.queues[key.name] = tuple(
        Place(place.fire_at, place.arrival, place.run_id, key.limit)
        if place.run_id == run.run_id
        else place
        for place in places
    )


def _waits(books: Books, run: Run) -> bool:
    queues = (books.queues.get(key, ()) for key in books.keys_of.get(run.run_id, ()))
    return any(place.run_id == run.run_id for queue in queues for place in queue)


def _leave_queue(books: Books, key: str, run: Run) -> None:
    places = books.queues.get(key, ())
    books.queues[key] = tuple(place for place in places if place.run_id != run.run_id)


def _remember(books: Books, key: str, run: Run) -> None:
    books.keys_of[run.run_id] = books.keys_of.get(run.run_id, frozenset()) | {key}


def _forget(books: Books, key: str, run: Run) -> None:
    held = books.holders.get(key, {})
    books.holders[key] = {n: holder for n, holder in held.items() if holder != run.run_id}
    _leave_queue(books, key, run)
    books.keys_of[run.run_id] = books.keys_of[run.run_id] - {key}
