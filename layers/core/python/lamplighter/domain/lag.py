"""The fires that planning has not come to when their job is changed."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.job import Job, JobStatus
from lamplighter.domain.run import delay_of
from lamplighter.domain.schedule import Calendar, Settlement, pass_over, settle_all
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
