"""The fires that a job's own schedule had, recomputed from what the job was at each time."""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.schedule import Schedule
from lamplighter.domain.schedule.timeline import Timeline, timeline
from lamplighter.domain.schedule.times import ceil_ms, from_ms, to_ms
from lamplighter.stages.verify.case import NOWHERE, Case, Expected
from lamplighter.stages.verify.covers import Covers
from lamplighter.stages.verify.lives import CHANGING, FAR_AHEAD, fires


class Stretch(msgspec.Struct, frozen=True):
    """A time in which schedule and pools stayed as they are in `job`, whatever else changed."""

    job: Job
    since: datetime
    until: datetime
    is_first: bool

    @property
    def settled_until(self) -> datetime:
        """Later fires may have been removed by the change that ended it."""
        return self.until if self.until == FAR_AHEAD else self.until - CHANGING

    @property
    def over_at(self) -> datetime:
        """No fire from here on is its own."""
        return self.until if self.until == FAR_AHEAD else self.until + CHANGING


def line_of(case: Case, schedule: Schedule) -> Timeline | None:
    """None where the schedule names a calendar that is no longer known."""
    use = schedule.calendar
    if not case.days.calendars.keys() >= {*use.exclude, *use.only}:
        return None
    return timeline(schedule, case.days.calendars)


def is_fire(case: Case, schedule: Schedule, instant: datetime) -> bool:
    line = line_of(case, schedule)
    moment = to_ms(instant)
    return line is None or line.next(moment - 1) == moment


def own_fires(case: Case) -> dict[datetime, Expected]:
    """Those in the window; of fires that rows of missed ones answer for, only the first."""
    found: dict[datetime, Expected] = {}
    covers = Covers(case.missed)
    for stretch in stretches(case):
        recurs = stretch.job.schedule.schedule_type.is_recurring
        of_stretch = _recurring(case, stretch, covers) if recurs else _once(case, stretch)
        for fire, each in of_stretch:
            found[fire] = found[fire] | each if fire in found else each
    return found


def stretches(case: Case) -> list[Stretch]:
    """Times in which the job had a schedule of its own that counted."""
    life = case.life
    found: list[Stretch] = []
    for number, job in enumerate(life.versions):
        since, until = life.since(number), life.until(number)
        if not fires(job) or job.schedule.schedule_type is ScheduleType.AFTER:
            continue
        last = found[-1] if found else None
        if last and last.until == since and _fire_alike(last.job, job):
            found[-1] = Stretch(job, last.since, until, last.is_first)
        else:
            found.append(Stretch(job, since, until, is_first=number == 0))
    return found


def _fire_alike(one: Job, other: Job) -> bool:
    return one.schedule == other.schedule and set(one.pools) == set(other.pools)


def _once(case: Case, stretch: Stretch) -> Iterator[tuple[datetime, Expected]]:
    fire = stretch.job.schedule.schedule_time
    if fire is None or not case.window.holds(fire) or fire >= stretch.over_at:
        return
    pools = frozenset(stretch.job.pools)
    # A time that had passed when it was written down was due at once, and stays.
    settled = fire <= stretch.since or fire < stretch.settled_until
    yield fire, Expected(pools if settled and _is_planned(case, fire) else NOWHERE, pools)


def _recurring(case: Case, stretch: Stretch, covers: Covers) -> Iterator[tuple[datetime, Expected]]:
    line = line_of(case, stretch.job.schedule)
    pools = frozenset(stretch.job.pools)
    if line is None:
        return
    begins = required_from(case, stretch)
    first = max(case.window.since, min(begins, stretch.since - CHANGING))
    last = min(case.window.until, stretch.over_at)
    fire = line.next(ceil_ms(first) - 1)
    while fire is not None and fire < ceil_ms(last):
        instant = from_ms(fire)
        settled = begins <= instant < stretch.settled_until and _is_planned(case, instant)
        yield instant, Expected(pools if settled else NOWHERE, pools)
        fire = line.next(to_ms(covers.leap(pools, instant)))


def required_from(case: Case, stretch: Stretch) -> datetime:
    """From when on each of its fires must have a run.

    A submission writes its first fire down together with the job, also where that lies in the
    past: it was accepted while the ledger was away. From there on, none may be missing.
    """
    begins = stretch.since + CHANGING
    if stretch.is_first:
        created = case.life.created_at
        first = (run.fire_at for run in case.scheduled if run.created_at == created)
        begins = min(first, default=begins)
    changed = case.days.last_change(stretch.job.schedule)
    return begins if changed is None else max(begins, _replanned_from(case, changed))


def _replanned_from(case: Case, changed: datetime) -> datetime:
    """The first fire that was planned knowing a calendar as it is; the next follow from it."""
    after = changed + CHANGING if changed < FAR_AHEAD - CHANGING else changed
    planned = (run.fire_at for run in case.scheduled if run.created_at > after)
    return min(planned, default=FAR_AHEAD)


def _is_planned(case: Case, fire: datetime) -> bool:
    """Planning has come by; where it lags behind, another rule says so."""
    stands = case.life.next_fire_at
    return stands is None or fire < stands
