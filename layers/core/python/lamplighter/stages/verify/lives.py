"""A job through time: which version of it held when."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Final
from uuid import UUID

from lamplighter.domain.dependents import upstream_ids
from lamplighter.domain.job import Job, JobStatus
from lamplighter.ports.ledger_history import JobLife

# How long a change may be under way: its instants are read off the clock at several places of one
# transaction, which may wait for locks in between. So near to a change, both versions may be right.
CHANGING: Final = timedelta(seconds=5)
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
FAR_AHEAD: Final = datetime.max.replace(tzinfo=UTC)


class Life:
    def __init__(self, told: JobLife) -> None:
        self.versions = told.versions
        self.next_fire_at = told.next_fire_at
        self._since = [version.updated_at or _LONG_AGO for version in told.versions]
        self._since[0] = self.created_at

    @property
    def job(self) -> Job:
        return self.versions[-1]

    @property
    def job_id(self) -> UUID:
        return self.job.job_id

    @property
    def created_at(self) -> datetime:
        return self.versions[0].created_at or _LONG_AGO

    def since(self, number: int) -> datetime:
        return self._since[number]

    def until(self, number: int) -> datetime:
        """When the next version took over."""
        return self._since[number + 1] if number + 1 < len(self._since) else FAR_AHEAD

    def at(self, instant: datetime) -> Job:
        """The version that held then; the first one also before it existed."""
        return self.versions[max(0, bisect_right(self._since, instant) - 1)]

    def during(self, first: datetime, last: datetime) -> tuple[Job, ...]:
        """Every version that may have held at some moment between these."""
        if len(self.versions) == 1:
            return self.versions
        low = max(0, bisect_right(self._since, _less(first)) - 1)
        return self.versions[low : max(low + 1, bisect_right(self._since, _more(last)))]

    def around(self, instant: datetime) -> tuple[Job, ...]:
        return self.during(instant, instant)

    @cached_property
    def cancelled_at(self) -> datetime | None:
        return self.job.updated_at if self.job.status is JobStatus.CANCELLED else None

    @cached_property
    def upstreams(self) -> frozenset[UUID]:
        """Whom it waits for, or once did."""
        return frozenset(up for version in self.versions for up in upstream_ids(version))


def fires(version: Job) -> bool:
    """Whether its schedule counts: that of a paused job does."""
    return version.status in (JobStatus.SCHEDULED, JobStatus.PAUSED)


def _less(instant: datetime) -> datetime:
    return instant - CHANGING if instant > _LONG_AGO + CHANGING else instant


def _more(instant: datetime) -> datetime:
    return instant + CHANGING if instant < FAR_AHEAD - CHANGING else instant
