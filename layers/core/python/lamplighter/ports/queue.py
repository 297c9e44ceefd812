"""The queue: runs that wait for their time, then for a place. A fast hint, never the truth.

It may be emptied at any moment and loses nothing by it: the ledger knows what it held. Calls take
whole batches. Those of the leader carry its epoch: StaleEpoch says that somebody else leads by
now, QueueEmptied that loading must restart from the watermark. All of them raise
QueueUnavailable, and nothing else, when the store cannot be reached in time.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

import msgspec

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Due

NONE: Final[Mapping[str, int]] = {}


class QueueUnavailable(LamplighterError):
    """The queue cannot be reached or did not answer in time. The ledger still has every run."""


class StaleEpoch(LamplighterError):
    """A later leader has begun. Stop ticking: nothing was changed by this call."""


class QueueEmptied(LamplighterError):
    """The queue does not know this leader: it lost its data. Begin again from the watermark."""


class Ready(msgspec.Struct, frozen=True):
    """A run whose turn it is: to be published now."""

    run_id: UUID
    fence: int
    priority: int
    pool: str
    tenant: str

    @property
    def job_class(self) -> JobClass:
        return JobClass.of(self.priority)


class Tick(msgspec.Struct, frozen=True):
    """What a tick found, and when the next one is worth its while."""

    runs: list[Ready]
    more: bool  # the limit may have cut it short: tick again as soon as these are out
    backlog: bool  # runs are due in these pools and found no place: tick again when one is free
    next_due: datetime | None  # see `Depths.next_due`


class Depth(msgspec.Struct, frozen=True):
    """How many runs of one tenant are due and wait for a place."""

    pool: str
    job_class: JobClass
    tenant: str
    runs: int


class Counts(msgspec.Struct, frozen=True):
    runs: int  # all that the queue knows of
    in_flight: int  # popped, not known to be published


class Loading(Protocol):
    def begin(self, epoch: int, loaded_to: datetime, watermark: datetime) -> datetime:
        """Lead from here on. Answers from where to load. StaleEpoch if too late.

        A queue that knows less than `loaded_to`, which the ledger believes, has lost runs: they
        are loaded again from the watermark, below which nothing waits. It is remembered in the
        same step: a leader that dies on the way leaves the next one in no other belief.
        """

    def loaded(self, epoch: int, to: datetime) -> None:
        """Remember how far loading has come: before that, everything is here."""

    def add(self, runs: Sequence[Due], *, epoch: int | None = None) -> None:
        """Let runs wait for their time; wakes the leader where one comes before all the others.

        The same run and fence again changes nothing, wherever that run is by now. A newer fence
        replaces an older one that waits; one in flight is left to be published. Who does not
        lead gives no epoch, and may ignore QueueEmptied: the leader will load the run.
        """

    def remove(self, run_ids: Collection[UUID]) -> int:
        """Forget runs that wait, for their time or for a place; in flight they stay. How many."""

    def holds(self, run_ids: Collection[UUID]) -> set[UUID]:
        """Which of these are here: waiting, queued, or in flight."""


class Ticks(Protocol):
    def tick(
        self,
        epoch: int,
        now: datetime,
        free: Mapping[str, int],
        limit: int,
        kept: Mapping[str, int] = NONE,
    ) -> Tick:
        """Pop what is due, up to `free` runs per pool and `limit` in all, most urgent first.

        Classes divide a pool by their shares, tenants take turns within a class, and a tenant's
        runs go by aged score. What is popped is in flight until it is `published`. A pool that
        `free` does not name has no place. Where these are used up, up to `kept` more runs are
        popped, of tenants that have no more than `LITTLE` due in a class: all of what is due. After
        an answer that got lost on the way, the next tick gives what was in it.
        """

    def published(self, epoch: int, runs: Sequence[Ready]) -> None:
        """These are on the bus: forget them."""

    def take_over(self, epoch: int) -> list[Ready]:
        """All that is in flight, whoever popped it: publish it again, the claim sorts it out."""


class Handover(Protocol):
    def keep_paces(self, paces: Mapping[str, float]) -> None:
        """How many runs a second each pool has shown it can do, for whoever leads next.

        No more than a hint: a leader that dies does not say it.
        """

    def paces(self) -> dict[str, float]:
        """What was said last; nothing of pools of which nobody has said anything."""


class Depths(Protocol):
    def next_due(self) -> datetime | None:
        """When the next tenant joins the line: the first due time of those not yet in it.

        Who is in line already needs no clock: its later runs are found with the ones before.
        """

    def depth(self, now: datetime) -> list[Depth]:
        """Who stands in line, deepest first. Not of one instant: for metrics and scaling."""

    def counts(self) -> Counts: ...


class Waking(Protocol):
    def wake(self) -> None:
        """End the leader's sleep."""

    def sleep(self, seconds: float) -> bool:
        """Wait so long, or until somebody calls `wake`: True. Spurious wake-ups happen."""


class Queue(Loading, Ticks, Handover, Depths, Waking, Protocol):
    """All of it: what `ValkeyQueue` and `MemoryQueue` both are, and one suite proves."""
