"""Plan: write the runs of the next minutes, and move the schedules on."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.run import Due, delay_of
from lamplighter.domain.schedule import Calendar, catch_up, fires_between, next_fire
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import DueSchedule, Lease, Ledger, Missed, Planned
from lamplighter.stages.news import planned_news

_log: Final = logging.getLogger("lamplighter.plan")
HORIZON = timedelta(minutes=5)
# A schedule that fires every second has 300 fires in the horizon; nothing fires more often.
_FIRES_AT_ONCE = 1_000
_SCHEDULES_AT_ONCE = 500


class Page(list[Due]):
    """The runs of a page, once written, and the news of them."""

    news: list[JobEvent]


def plan(ledger: Ledger, lease: Lease, until: datetime) -> Iterator[Page]:
    """Plan everything that fires before `until`; yields each page, once written.

    Page by page: thirty days of outage are many short transactions and never a wedge. Until the
    next time, where nothing moves: somebody holds the graph that these are part of.
    """
    seen: Sequence[DueSchedule] = ()
    while (due := ledger.due_schedules(until, _SCHEDULES_AT_ONCE)) and due != seen:
        seen = due
        now = ledger.now()
        planned = _plan_each(ledger, due, now, until)
        page = Page(ledger.plan(lease, planned))
        page.news = planned_news(planned, page, now)
        yield page
        has_more = len(due) == _SCHEDULES_AT_ONCE or any(_has_more(each, now) for each in planned)
        if not planned or not has_more:
            break


def _plan_each(
    ledger: Ledger, due: Sequence[DueSchedule], now: datetime, until: datetime
) -> list[Planned]:
    """One that cannot be planned is said aloud, and left: it must not stop all the others."""
    planned: list[Planned] = []
    for each in due:
        try:
            planned.append(plan_one(each, now, until, _calendars(ledger, each)))
        except LedgerUnavailable:
            raise
        except Exception:  # noqa: BLE001 - whatever is wrong with it, the others are not
            _log.exception("job %s cannot be planned", each.job.job_id)
    return planned


def plan_one(
    due: DueSchedule, now: datetime, until: datetime, calendars: Mapping[str, Calendar]
) -> Planned:
    """What to write for one schedule: late fires as catch-up says, then those up to `until`."""
    job, schedule = due.job, due.job.schedule
    due_by = now - delay_of(job)  # jitter makes each fire due so much later
    late = catch_up(schedule, due.next_fire_at, due_by, page=_FIRES_AT_ONCE, calendars=calendars)
    fires, upcoming = list(late.run), late.next_fire_at
    if upcoming is not None and upcoming < until and not late.more:
        fires += fires_between(schedule, upcoming, until, _FIRES_AT_ONCE, calendars)
        upcoming = next_fire(schedule, fires[-1], calendars)
    return Planned(
        job=job,
        seen_fire=due.next_fire_at,
        version=job.version,
        fires=tuple(fires),
        missed=tuple(
            Missed(gap.from_fire, gap.to_fire, gap.count, SkipReason.MISSED_WINDOW)
            for gap in late.missed
        ),
        next_fire_at=upcoming,
    )


def _has_more(planned: Planned, now: datetime) -> bool:
    return planned.next_fire_at is not None and planned.next_fire_at < now


def _calendars(ledger: Ledger, due: DueSchedule) -> Mapping[str, Calendar]:
    use = due.job.schedule.calendar
    return ledger.calendars(due.job.tenant) if use.exclude or use.only else {}
