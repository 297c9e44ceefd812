"""Who goes first: by score within a tenant, by turns between tenants, by shares between classes.

The scripts in `adapters/valkey/lua` do the same arithmetic beside the data; a test plays both
against each other.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from lamplighter.domain.policy import JobClass

LEVEL_MS: Final = 1_000_000  # what one level of priority is worth in waiting
OVERDUE_MS: Final = 300_000  # from here on a run rises …
RISE_MS: Final = 60_000  # … by a further level each time this has passed
PRIORITIES: Final = range(1, 11)

# How a pool's places are divided while every class has something to run.
DEFAULT_SHARES: Final = {JobClass.P1: 100, JobClass.P2: 50, JobClass.P3: 20, JobClass.P4: 10}
_STRIDE: Final = 1_000_000
# A tenant that has no more than this due in a class asks for little: a pool that is full has some
# places kept for such, so that whoever floods it delays nobody else.
LITTLE: Final = 10


def priorities_of(job_class: JobClass) -> list[int]:
    return [priority for priority in PRIORITIES if JobClass.of(priority) is job_class]


def score(priority: int, due_ms: int) -> int:
    """Lowest first: waiting 1,000 s is worth one level of priority."""
    return priority * LEVEL_MS + due_ms


def aged_score(priority: int, due_ms: int, now_ms: int) -> int:
    """The score now: from 5 minutes overdue on, a further level for every minute.

    Of two runs with one priority the older always comes first, aged or not. So a queue that
    holds a single priority stays in order by itself, and only the heads of queues are compared.
    """
    rising_for = max(0, now_ms - due_ms - OVERDUE_MS)
    return score(priority, due_ms) - rising_for // RISE_MS * LEVEL_MS


def take_turns(waiting: Sequence[int], places: int) -> list[int]:
    """Whose turn each place is, when this many runs wait per tenant: round after round."""
    turns: list[int] = []
    left = list(waiting)
    active = [tenant for tenant, count in enumerate(left) if count > 0]
    while active and len(turns) < places:
        for tenant in active[: places - len(turns)]:
            turns.append(tenant)
            left[tenant] -= 1
        active = [tenant for tenant in active if left[tenant] > 0]
    return turns


class Places(msgspec.Struct, frozen=True):
    """Of a pool. Those that are kept are for tenants that ask for little, once no other is left."""

    free: int
    kept: int = 0

    def less(self, taken: int) -> "Places":
        beyond = max(0, taken - max(0, self.free))
        return Places(max(0, self.free - taken), max(0, self.kept - beyond))


class Passes(msgspec.Struct, frozen=True):
    """How much each class of a pool has had, in strides, and where the pool stands (`now`).

    A class that had nothing to run for a while rejoins at `now`: it saves up no claim on the
    others, and owes them nothing.
    """

    now: int = 0
    of: Mapping[JobClass, int] = {}


def strides(shares: Mapping[JobClass, int]) -> dict[JobClass, int]:
    """What one place costs each class: the larger its share, the smaller its stride."""
    missing = [each.name for each in JobClass if shares.get(each, 0) < 1]
    if missing:
        raise ValueError(f"a share is a whole number from 1 on; {', '.join(missing)} has none")
    return {each: _STRIDE // shares[each] for each in JobClass}


def share_out(
    places: int,
    waiting: Mapping[JobClass, int],
    passes: Passes,
    stride_of: Mapping[JobClass, int],
) -> tuple[dict[JobClass, int], Passes]:
    """How many places each class gets. What one cannot use, the others get.

    Stride scheduling: each place goes to the class that has had least for its share. With one
    place at a time the shares still hold over time, and nobody waits for ever.
    """
    given = dict.fromkeys(JobClass, 0)
    now = passes.now
    of = {each: max(passes.of.get(each, 0), now) for each in JobClass if waiting.get(each, 0) > 0}
    for _ in range(places):
        hungry = [each for each in of if given[each] < waiting[each]]
        if not hungry:
            break
        chosen = min(hungry, key=lambda each: of[each])
        now = of[chosen]
        of[chosen] += stride_of[chosen]
        given[chosen] += 1
    return given, Passes(now, {**passes.of, **of})
