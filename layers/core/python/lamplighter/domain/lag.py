"""The fires that planning has not come to when their job is changed, and those after them."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import delay_of
from lamplighter.domain.schedule import (
    Calendar,
    Schedule,
    Settlement,
    next_fire,
    pass_over,
    settle_all,
)
from lamplighter.domain.states import SkipReason


class Lag(msgspec.Struct, frozen=True):
    """What becomes of these fires, and why those end that do not run."""

    settled: Settlement
    reason: SkipReason


def lag_of(job: Job, stands: datetime, now: datetime, calendars: Mapping[str, Calendar]) -> Lag:
    """Of the fires from `stands` up to now, as the job was until now.

    Those of a paused job were passed over. A schedule that cannot be computed has no fires that
    anybody could tell of: it must still be possible to mend or to cancel its job.
    """
    paused = job.status is JobStatus.PAUSED and job.schedule.schedule_type.is_recurring
    try:
        if paused:
            return Lag(pass_over(job.schedule, stands, now, calendars), SkipReason.PAUSED)
        settled = settle_all(job.schedule, stands, now, calendars, delay=delay_of(job))
    except InvalidSchedule:
        settled = Settlement((), (), stands, more=False)
    return Lag(settled, SkipReason.MISSED_WINDOW)


class Ahead(msgspec.Struct, frozen=True):
    """The fire to write down at once, and the one to plan from."""

    first_fire: datetime | None
    next_fire: datetime | None


class Edit(msgspec.Struct, frozen=True):
    """A schedule that takes another's place, or its own, and what was settled of the one before."""

    before: Schedule
    after: Schedule
    past: Settlement | None
    given: Ahead

    def ahead(self, now: datetime, calendars: Mapping[str, Calendar]) -> Ahead:
        """What was given, unless that has been told of by now.

        It was computed by another clock, maybe seconds ago: somebody else had the job locked. A
        recurring job has a next fire; a one-off's only one is never too late.
        """
        if not self.after.schedule_type.is_recurring:
            return self.given
        if self.past is not None and self.after == self.before:
            return self._or_from(self.past.next_fire_at)
        if self.given.first_fire is None or self.given.first_fire > now:
            return self.given
        return Ahead(None, next_fire(self.after, now, calendars))

    def _or_from(self, fire: datetime | None) -> Ahead:
        return self.given if self.given.first_fire == fire else Ahead(None, fire)
