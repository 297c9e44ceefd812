"""What the checker asks the ledger: how jobs were at every time, and all that came of them.

Everything is read as of one moment, so that no edit falls between two answers. Jobs come in pages;
the runs of a page of jobs come together.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, TypeVar
from uuid import UUID

import msgspec

from lamplighter.domain.job import Job
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import Calendar

T = TypeVar("T")

FIRST_ID: Final = UUID(int=0)


class JobLife(msgspec.Struct, frozen=True):
    """A job as it was and is: each version holds from its `updated_at` until that of the next.

    The oldest comes first, and none has payload or target. `next_fire_at` is where planning
    stands; None where nothing is left to plan.
    """

    versions: tuple[Job, ...]
    next_fire_at: datetime | None = None


class KnownCalendar(msgspec.Struct, frozen=True):
    """The newest version of a calendar, and from when on it is known to hold; None: always."""

    calendar: Calendar
    holds_from: datetime | None = None


class LedgerHistory(Protocol):
    """Without a tenant: of all of them. Runs have no result and no output."""

    def now(self) -> datetime:
        """The moment as of which all of this is answered."""

    def kept_since(self) -> datetime:
        """History before this may have been retired."""

    def heartbeats(self) -> Mapping[str, datetime]:
        """When each worker was last heard of."""

    def calendars(self, tenant: str) -> list[KnownCalendar]: ...

    def lives(self, tenant: str | None, after: UUID, limit: int) -> list[JobLife]:
        """By job id, from this one on, without it."""

    def lives_of(self, job_ids: Sequence[UUID]) -> list[JobLife]: ...

    def runs_of(self, job_ids: Sequence[UUID], since: datetime, until: datetime) -> list[Run]:
        """Their runs with fires in [since, until), by id."""

    def attempts_of(self, run_ids: Sequence[UUID]) -> list[Attempt]:
        """What is noted of their attempts, by run and fence, without the errors' texts."""

    def missed_before(self, job_id: UUID, since: datetime) -> list[Run]:
        """The last rows of missed fires that begin before `since` and reach it, one per pool."""

    def strays(self, tenant: str | None, since: datetime, until: datetime, limit: int) -> list[Run]:
        """Runs whose job is not there, by id."""

    def ahead_in(self, keys: Sequence[str]) -> Mapping[str, frozenset[UUID]]:
        """For whom one may have to wait there: who holds a slot, or has a place and is not parked.

        Keys for which there is nobody are left out.
        """


class HistoryReader(Protocol):
    def read(self, work: Callable[[LedgerHistory], T]) -> T:
        """Do `work` with the history as of one moment. It may be begun anew, so let it be pure."""
