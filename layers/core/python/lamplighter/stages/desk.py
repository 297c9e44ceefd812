"""The desk at which people are served: what submit, change and query work with."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.errors import InvalidJob, LamplighterError
from lamplighter.domain.job import Job
from lamplighter.domain.run import Accepted, Due, Settled, Submission
from lamplighter.domain.schedule import Calendar, Schedule, first_fire, next_fire, validate
from lamplighter.domain.states import RunState
from lamplighter.domain.target import parse_target, redacted
from lamplighter.ports.cache import Cache
from lamplighter.ports.ledger_queries import QueryLedger
from lamplighter.ports.logs import Logs
from lamplighter.ports.queue import Depths
from lamplighter.stages.defer import Deferral
from lamplighter.stages.news import added_news, settled_news, submitted_news
from lamplighter.stages.plan import HORIZON

if TYPE_CHECKING:
    from lamplighter.stages.trace import Tracer

Target = dict[str, Any]
Calendars = Mapping[str, Calendar]

_log = logging.getLogger("lamplighter.desk")
# What is due later is loaded in time anyway. A little beyond what loading may have passed: its
# clock and this one are not the same.
SOON: Final = HORIZON + timedelta(seconds=10)


def tell_nobody(_: Sequence[Due]) -> None:
    """Leave it to the watcher to find the runs."""


class Desk(msgspec.Struct, frozen=True):
    """`now` is the ledger's clock. `hint` tells the queue of runs that are due soon.

    With a `deferral`, jobs are accepted while the ledger is away; with a `cache`, a job's status
    is known then. `announce` tells of what people did; `stop_running` tells the workers of runs
    that somebody cancelled, faster than their next heartbeat would. `probes` raise while their
    part is away. `pools` are all that there are: a run in another would wait forever.
    """

    ledger: QueryLedger
    now: Callable[[], datetime]
    check_target: Callable[[Target], object] = parse_target
    show_target: Callable[[Target], Target] = redacted
    hint: Callable[[Sequence[Due]], None] = tell_nobody
    logs: Logs | None = None
    deferral: Deferral | None = None
    announce: Callable[[Sequence[JobEvent]], None] | None = None
    stop_running: Callable[[Collection[UUID]], None] | None = None
    cache: Cache | None = None
    queue: Depths | None = None
    probes: Mapping[str, Callable[[], object]] = {}
    pools: Collection[str] | None = None
    tracer: "Tracer | None" = None

    def check_pools(self, job: Job) -> None:
        if self.pools is None:
            return
        for n, pool in enumerate(job.pools):
            if pool not in self.pools:
                field = f"fan_out[{n}]" if job.policy.fan_out else "pool"
                there_are = ", ".join(sorted(self.pools))
                raise InvalidJob(field, f"there is no pool {pool!r} here; there are {there_are}")

    def calendars(self, tenant: str, schedule: Schedule) -> Calendars:
        """Asked for only where the schedule uses one."""
        return self.ledger.calendars(tenant) if uses_calendars(schedule) else {}

    def tell_queue(self, runs: Sequence[Due], now: datetime) -> None:
        """Truth first, hint second: what could not be told now, the watcher finds."""
        soon = [run for run in runs if run.due_at <= now + SOON]
        if not soon:
            return
        try:
            self.hint(soon)
        except LamplighterError as error:
            _log.warning("queue not told of %d runs: %s", len(soon), error)

    def tell_submitted(
        self, submissions: Sequence[Submission], accepted: Accepted, now: datetime
    ) -> None:
        if self.announce is not None:
            self.announce(submitted_news(submissions, accepted, now))

    def tell_added(self, job_id: UUID, runs: Sequence[Due], now: datetime) -> None:
        """The queue and the readers, of runs beside the schedule, or of an edited one."""
        self.tell_queue(runs, now)
        self.tell_of(job_id, runs, now)

    def tell_of(self, job_id: UUID, runs: Sequence[Due], now: datetime) -> None:
        """The readers alone: not all of these can start yet."""
        if self.announce is not None and runs:
            self.announce(added_news(job_id, runs, now))

    def tell_settled(self, settled: Sequence[Settled]) -> None:
        """Of runs that a person's word has ended, stopped or set free: no worker will report it."""
        if self.announce is not None:
            self.announce(settled_news(settled))
        stopping = [each.run_id for each in settled if each.state is RunState.CANCELLING]
        if stopping and self.stop_running is not None:
            try:
                self.stop_running(stopping)
            except LamplighterError as error:
                _log.warning("%d runs stop a little later: %s", len(stopping), error)


class Timing(msgspec.Struct, frozen=True):
    """A schedule as it is kept, with the fire to write down now and the one to plan from."""

    schedule: Schedule
    first_fire: datetime | None
    next_fire: datetime | None


class Timings:
    """What schedules mean at one moment. Jobs of a batch are often alike: each is asked once."""

    def __init__(self, desk: Desk, tenant: str, now: datetime) -> None:
        self._desk = desk
        self._tenant = tenant
        self.now = now
        self._known: dict[Schedule, Timing] = {}

    def of_new(self, schedule: Schedule) -> Timing:
        """InvalidSchedule where it cannot be believed."""
        known = self._known.get(schedule)
        if known is None:
            calendars = self._calendars if uses_calendars(schedule) else {}
            kept = validate(schedule, now=self.now, calendars=calendars)
            known = self._known[schedule] = fires_from(kept, self.now, calendars)
        return known

    @cached_property
    def _calendars(self) -> Calendars:
        return self._desk.ledger.calendars(self._tenant)


def uses_calendars(schedule: Schedule) -> bool:
    return bool(schedule.calendar.exclude or schedule.calendar.only)


def fires_from(schedule: Schedule, now: datetime, calendars: Calendars) -> Timing:
    """For a schedule that was validated, now or when it was submitted."""
    first = first_fire(schedule, now, calendars)
    later = None
    if first is not None and schedule.schedule_type.is_recurring:
        later = next_fire(schedule, first, calendars)
    return Timing(schedule, first, later)
