"""All that the rules may know of one job: its life, its runs in the window, who it waits for."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from uuid import UUID

import msgspec

from lamplighter.domain.ids import BY_SCHEDULE
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import Calendar, Schedule
from lamplighter.stages.verify.lives import FAR_AHEAD, Life


class Window(msgspec.Struct, frozen=True):
    """Fires in [since, until) are looked at, as of `now`.

    What should have happened more than `grace` ago and has not is a finding. History before
    `kept_since` may have been retired.
    """

    since: datetime
    until: datetime
    now: datetime
    kept_since: datetime
    grace: timedelta

    def holds(self, instant: datetime) -> bool:
        return self.since <= instant < self.until

    @property
    def overdue(self) -> datetime:
        return self.now - self.grace


class Facts(msgspec.Struct, frozen=True):
    """What is the same for all jobs of a page."""

    window: Window
    heartbeats: Mapping[str, datetime] = {}
    ahead_in: Mapping[str, frozenset[UUID]] = {}


class Days(msgspec.Struct, frozen=True):
    """The calendars of a tenant, and since when those hold that were changed."""

    calendars: Mapping[str, Calendar] = {}
    changed_at: Mapping[str, datetime] = {}

    def last_change(self, schedule: Schedule) -> datetime | None:
        """Before this, the schedule may have had other fires; None: it never had."""
        use = schedule.calendar
        changes = [
            self.changed_at.get(name) if name in self.calendars else FAR_AHEAD
            for name in (*use.exclude, *use.only)
        ]
        return max((change for change in changes if change is not None), default=None)


NOWHERE: frozenset[str] = frozenset()


class Expected(msgspec.Struct, frozen=True):
    """The pools in which a fire must have a run, and those in which it may."""

    required: frozenset[str]
    allowed: frozenset[str]

    def __or__(self, other: "Expected") -> "Expected":
        return Expected(self.required | other.required, self.allowed | other.allowed)


class Upstream:
    """A job that another one waits for, with those of its runs that the schedule made.

    A row of missed fires is among them: whoever waits for the next run may get that one. Runs
    beside the schedule are apart: only those that were asked for together wait for each other.
    """

    def __init__(self, life: Life, runs: Sequence[Run]) -> None:
        self.life = life
        self.runs = [run for run in runs if run.origin == BY_SCHEDULE]
        self._beside = [run for run in runs if run.origin != BY_SCHEDULE]

    @cached_property
    def beside(self) -> dict[tuple[str, datetime], list[Run]]:
        found: dict[tuple[str, datetime], list[Run]] = {}
        for run in self._beside:
            found.setdefault((run.origin, run.fire_at), []).append(run)
        return found

    @cached_property
    def by_fire(self) -> dict[datetime, list[Run]]:
        found: dict[datetime, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.fire_at, []).append(run)
        return found

    @cached_property
    def fires(self) -> list[datetime]:
        return sorted(self.by_fire)

    def led_at(self, fire: datetime) -> list[Run]:
        """What has given its dependents a run of their own; missed fires give none."""
        return [run for run in self.by_fire[fire] if run.missed_to is None]

    @property
    def repeats(self) -> bool:
        return self.life.job.repeats


class Case:
    def __init__(  # noqa: PLR0913 - the facts of one job, each by its name
        self,
        life: Life,
        runs: Sequence[Run],
        *,
        facts: Facts,
        attempts: Mapping[UUID, Sequence[Attempt]] | None = None,
        upstreams: Mapping[UUID, Upstream] | None = None,
        days: Days | None = None,
        missed_before: Sequence[Run] = (),
        ahead: Sequence[Run] = (),
    ) -> None:
        self.life = life
        self.runs = runs
        self.facts = facts
        self.window = facts.window
        self.upstreams = upstreams or {}
        self.days = days or Days()
        self.missed_before = missed_before
        self.ahead = ahead
        self.expected: Mapping[datetime, Expected] = {}
        self._attempts = attempts or {}

    def attempts(self, run: Run) -> Sequence[Attempt]:
        """Those that did not end in success, by fence."""
        return self._attempts.get(run.run_id, ())

    def first_start(self, run: Run) -> datetime | None:
        """The ledger remembers the last start; earlier ones are noted with how they ended."""
        noted = self._attempts.get(run.run_id)
        if not noted:
            return run.start_time
        starts = [each.started_at for each in noted if each.started_at is not None]
        if run.start_time is not None:
            starts.append(run.start_time)
        return min(starts, default=None)

    def last_start(self, run: Run) -> datetime | None:
        noted = self._attempts.get(run.run_id)
        if not noted:
            return run.start_time
        starts = [each.started_at for each in noted]
        return max((start for start in (*starts, run.start_time) if start), default=None)

    @cached_property
    def scheduled(self) -> list[Run]:
        """The schedule's own, one for each fire and pool."""
        return [run for run in self.runs if run.origin == BY_SCHEDULE and run.missed_to is None]

    @property
    def missed(self) -> list[Run]:
        """Rows that stand for several fires each."""
        return [
            *self.missed_before,
            *(run for run in self.runs if run.missed_to is not None),
        ]
