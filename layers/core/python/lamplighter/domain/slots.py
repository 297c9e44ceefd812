"""One mechanism for overlap, order and concurrency: numbered slots under a key.

A claim takes every slot its run needs, in the order of `SlotKind`, under the keys' locks. Because
everybody takes kinds in that order, nobody waits in a circle. What cannot have a slot is refused or
waits in the key's queue, and whoever gives a slot up hands it to the first in that queue.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final
from uuid import UUID

import msgspec

from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.job import Job
from lamplighter.domain.policy import Overlap


class SlotKind(IntEnum):
    OVERLAP = 1  # one run of this job; a newcomer is refused, or replaces
    ORDER = 2  # one run of this key, first in first out by fire, then submission
    LANE = 3  # so many runs of this backfill
    LIMIT = 4  # so many runs of this key


_BACKFILL: Final = "backfill:"
_BUDGET: Final = ":at_once="
# Kept while a run waits for its next attempt or for a person: giving these up would let a later
# fire overtake. A limit counts what is running, so it is given up.
KEPT_WHILE_WAITING = frozenset({SlotKind.OVERLAP, SlotKind.ORDER})


def kept_after_an_edit(keys: "Iterable[SlotKey]") -> frozenset[SlotKind]:
    """Who must wait for its order now holds, and hopes for, nothing that is taken after it.

    Two that each held what the other one came to need would wait for ever.
    """
    is_ordered = any(key.kind is SlotKind.ORDER for key in keys)
    return KEPT_WHILE_WAITING if is_ordered else frozenset(SlotKind)


class SlotKey(msgspec.Struct, frozen=True):
    kind: SlotKind
    name: str
    limit: int = 1


class Waiter(msgspec.Struct, frozen=True):
    """A place in a key's queue. Only a parked run can be handed a slot; others are on their way."""

    run_id: UUID
    limit: int
    is_parked: bool


class KeyState(msgspec.Struct):
    """A key under its lock: who holds which slot, and who waits, first in line first.

    Waiting may be cut after its first entries: nobody behind them can be served anyway.
    """

    holders: dict[int, UUID]
    waiting: list[Waiter]

    def holds(self, run: UUID) -> bool:
        return run in self.holders.values()

    def free_slot(self, limit: int) -> int | None:
        """None also while those under a wider, older limit still fill it."""
        if len(self.holders) >= limit:
            return None
        return next((n for n in range(1, limit + 1) if n not in self.holders), None)


class Granted(msgspec.Struct, frozen=True):
    """All slots are there; `taken` are those that were not held before."""

    taken: tuple[tuple[SlotKey, int], ...]


class Refused(msgspec.Struct, frozen=True):
    """The run must not overlap with `holder`."""

    holder: UUID


class MustWait(msgspec.Struct, frozen=True):
    """The run waits in the queue of `key`, keeping what it has `taken` of the kinds before."""

    key: SlotKey
    taken: tuple[tuple[SlotKey, int], ...]
    replaces: tuple[UUID, ...] = ()


def slot_keys(job: Job, pool: str, origin: str = BY_SCHEDULE) -> tuple[SlotKey, ...]:
    """The keys that a run of this job needs, in the order in which they are taken."""
    if is_backfill(origin):
        keys = (_key_of_all(job), _lane_key(job, origin), _limit_key(job))
    else:
        keys = (_overlap_key(job, pool), _order_key(job, pool), _limit_key(job))
    return tuple(key for key in keys if key is not None)


def backfill_origin(backfill_id: str, at_once: int) -> str:
    """The budget travels with the runs, for whoever lets them start; `_lane_key` reads it."""
    return f"{_BACKFILL}{backfill_id}{_BUDGET}{at_once}"


def is_of(asked: str, origin: str) -> bool:
    """Whether a run is of the origin that was asked for; a backfill goes by its id alone, too."""
    return origin == asked or (is_backfill(asked) and origin.startswith(f"{asked}{_BUDGET}"))


def is_backfill(origin: str) -> bool:
    """Its runs have a lane of their own: they overlap as its budget says, not as their job does."""
    return origin.startswith(_BACKFILL)


def lane_of(job: Job, origin: str) -> SlotKey | None:
    """In whose line the runs of a backfill wait from the start, whatever their pool.

    None where there is no budget, or where they must wait for their order before that. Nor where
    there are several pools: one without workers would keep the places that it is given.
    """
    if not is_backfill(origin) or _key_of_all(job) is not None or len(job.pools) > 1:
        return None
    return _lane_key(job, origin)


def _overlap_key(job: Job, pool: str) -> SlotKey | None:
    if job.overlap not in (Overlap.FORBID, Overlap.REPLACE):
        return None
    return SlotKey(SlotKind.OVERLAP, f"overlap:{job.job_id}:{pool}")


def _order_key(job: Job, pool: str) -> SlotKey | None:
    if job.ordering_key is None and job.overlap is Overlap.QUEUE:
        # To queue behind oneself is to be ordered by oneself.
        return SlotKey(SlotKind.ORDER, f"order:{job.job_id}:{pool}")
    return _key_of_all(job)


def _key_of_all(job: Job) -> SlotKey | None:
    """The order that a job shares with others, and that no backfill may break."""
    if job.ordering_key is None:
        return None
    return SlotKey(SlotKind.ORDER, f"order:{_owner(job)}:{job.ordering_key}")


def _lane_key(job: Job, origin: str) -> SlotKey | None:
    """From `backfill:<id>:at_once=<n>`; one that names no budget has none."""
    lane, _, at_once = origin.removeprefix(_BACKFILL).partition(_BUDGET)
    if not at_once.isdigit():
        return None
    return SlotKey(SlotKind.LANE, f"lane:{job.job_id}:{lane}", int(at_once))


def _limit_key(job: Job) -> SlotKey | None:
    if job.max_concurrency is None:
        return None
    name = f"key:{job.concurrency_key}" if job.concurrency_key is not None else f"job:{job.job_id}"
    return SlotKey(SlotKind.LIMIT, f"limit:{_owner(job)}:{name}", job.max_concurrency)


def _owner(job: Job) -> str:
    """The tenant, as one part of a key: `a:b` with `c` is not `a` with `b:c`."""
    return job.tenant.replace("%", "%25").replace(":", "%3A")


def kind_of(key_name: str) -> SlotKind:
    return SlotKind[key_name.partition(":")[0].upper()]


def take_slots(
    run: UUID, overlap: Overlap, keys: tuple[SlotKey, ...], states: dict[str, KeyState]
) -> Granted | Refused | MustWait:
    """Take the slots of one run, changing `states` as it goes, so that a batch sees its own."""
    taken: list[tuple[SlotKey, int]] = []
    for key in keys:
        state = states[key.name]
        if state.holds(run):
            continue
        slot = state.free_slot(key.limit)
        first_in_line = not state.waiting or state.waiting[0].run_id == run
        if slot is None or not first_in_line:
            return _without_slot(run, overlap, key, state, tuple(taken))
        state.holders[slot] = run
        state.waiting = [other for other in state.waiting if other.run_id != run]
        taken.append((key, slot))
    return Granted(tuple(taken))


def _without_slot(
    run: UUID,
    overlap: Overlap,
    key: SlotKey,
    state: KeyState,
    taken: tuple[tuple[SlotKey, int], ...],
) -> Refused | MustWait:
    if key.kind is SlotKind.OVERLAP and overlap is Overlap.FORBID:
        ahead = [*state.holders.values(), *(waiter.run_id for waiter in state.waiting)]
        return Refused(ahead[0])
    replaced: tuple[UUID, ...] = ()
    if key.kind is SlotKind.OVERLAP:  # replace: whoever holds the slot or hoped for it makes way
        ahead = [waiter.run_id for waiter in state.waiting if waiter.run_id != run]
        replaced = (*state.holders.values(), *ahead)
        state.waiting = [waiter for waiter in state.waiting if waiter.run_id == run]
    if all(waiter.run_id != run for waiter in state.waiting):
        state.waiting.append(Waiter(run, key.limit, is_parked=True))
    return MustWait(key, taken, replaced)


def hand_over(state: KeyState) -> list[tuple[int, UUID]]:
    """Give free slots to the first in line, as long as they are there to take them."""
    handed: list[tuple[int, UUID]] = []
    while state.waiting and state.waiting[0].is_parked:
        slot = state.free_slot(state.waiting[0].limit)
        if slot is None:
            break
        run = state.waiting.pop(0).run_id
        state.holders[slot] = run
        handed.append((slot, run))
    return handed
