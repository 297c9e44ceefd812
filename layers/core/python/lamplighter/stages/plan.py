"""Plan: write the runs of the next minutes, and move the schedules on."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from lamplighter.domain.run import Due
from lamplighter.domain.schedule import Calendar, catch_up, fires_between, next_fire
from lamplighter.domain.states import SkipReason
from lamplighter.ports.ledger import DueSchedule, Lease, Ledger, Missed, Planned

HORIZON = timedelta(minutes=5)
# A schedule that fires every second has 300 fires in the horizon; nothing fires more often.
_FIRES_AT_ONCE = 1_000
_SCHEDULES_AT_ONCE = 500


def plan(ledger: Ledger, lease: Lease, until: datetime) -> Iterator[list[Due]]:
    """Plan everything that fires before `until`; yields the runs of each page, once written.

    Page by page: thirty days of outage are many short transactions and never a wedge.
    """
    while due := ledger.due_schedules(until, _SCHEDULES_AT_ONCE):
        now = ledger.now()
        planned = [plan_one(each, now, until, _calendars(ledger, each)) for each in due]
        yield ledger.plan(lease, planned)
        if len(due) < _SCHEDULES_AT_ONCE and not any(_has_more(each, now) for each in planned):
            break


def plan_one(
    due: DueSchedule, now: datetime, until: datetime, calendars: Mapping[str, Calendar]
) -> Planned:
    """What to write for one schedule: late fires as catch-up says, then those up to `until`."""
    job, schedule = due.job, due.job.schedule
    late = catch_up(schedule, due.next_fire_at, now, page=_FIRES_AT_ONCE, calendars=calendars)
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
