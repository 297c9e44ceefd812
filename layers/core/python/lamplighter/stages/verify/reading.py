"""From the ledger's history to cases: jobs in pages, each with all that its rules need."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from lamplighter.domain.ids import EPOCH
from lamplighter.domain.policy import EdgeRule
from lamplighter.domain.run import Attempt, Run
from lamplighter.domain.schedule import CalendarUse
from lamplighter.domain.slots import slot_keys
from lamplighter.domain.states import RunState
from lamplighter.ports.ledger_history import FIRST_ID, LedgerHistory
from lamplighter.stages.verify.case import Case, Days, Facts, Upstream, Window
from lamplighter.stages.verify.fires import every_fire_has_a_run, expected_fires, next_unplanned
from lamplighter.stages.verify.lives import FAR_AHEAD, Life
from lamplighter.stages.verify.upstreams import LOOK_BACK

_JOBS_AT_ONCE: Final = 500
_RUNS_AT_ONCE: Final = 5_000
# An upstream may end, and free its dependents, for a fire that lies this little ahead.
_A_LITTLE_AHEAD: Final = timedelta(minutes=1)


class Reader:
    def __init__(self, history: LedgerHistory, window: Window) -> None:
        self._history = history
        self._window = window
        self._heartbeats = history.heartbeats()
        self._days: dict[str, Days] = {}

    def cases(self, tenant: str | None) -> Iterator[Case]:
        after = FIRST_ID
        while page := self._history.lives(tenant, after, _JOBS_AT_ONCE):
            yield from self._page([Life(told) for told in page])
            after = page[-1].versions[-1].job_id

    def _page(self, lives: Sequence[Life]) -> Iterator[Case]:
        window = self._window
        ids = [life.job_id for life in lives]
        runs = self._history.runs_of(ids, window.since, window.until)
        runs_of, attempts = _by_job(runs), self._attempts(runs)
        facts = Facts(window, self._heartbeats, self._ahead_in(lives, runs))
        upstreams = self._upstreams(lives)
        for life in lives:
            case = Case(
                life,
                runs_of.get(life.job_id, ()),
                facts=facts,
                attempts=attempts,
                upstreams={up: upstreams[up] for up in life.upstreams if up in upstreams},
                days=self._calendars(life),
            )
            yield self._completed(case)

    def _attempts(self, runs: Sequence[Run]) -> Mapping[UUID, list[Attempt]]:
        found: dict[UUID, list[Attempt]] = {}
        ids = [run.run_id for run in runs]
        for low in range(0, len(ids), _RUNS_AT_ONCE):
            for attempt in self._history.attempts_of(ids[low : low + _RUNS_AT_ONCE]):
                found.setdefault(attempt.run_id, []).append(attempt)
        return found

    def _ahead_in(
        self, lives: Sequence[Life], runs: Sequence[Run]
    ) -> Mapping[str, frozenset[UUID]]:
        jobs = {life.job_id: life.job for life in lives}
        parked = {
            (run.job_id, run.pool, run.origin) for run in runs if run.state is RunState.PARKED
        }
        keys = {
            key.name
            for job_id, pool, origin in parked
            for key in slot_keys(jobs[job_id], pool, origin)
        }
        return self._history.ahead_in(sorted(keys)) if keys else {}

    def _upstreams(self, lives: Sequence[Life]) -> dict[UUID, Upstream]:
        ids = sorted({up for life in lives for up in life.upstreams})
        if not ids:
            return {}
        known = [Life(told) for told in self._history.lives_of(ids)]
        often = [life.job_id for life in known if life.job.repeats]
        once = [life.job_id for life in known if not life.job.repeats]
        since, until = self._window.since - _look_back(lives), self._window.now + _A_LITTLE_AHEAD
        runs = [
            *(self._history.runs_of(often, since, until) if often else ()),
            *(self._history.runs_of(once, EPOCH, FAR_AHEAD) if once else ()),
        ]
        runs_of = _by_job(runs)
        return {life.job_id: Upstream(life, runs_of.get(life.job_id, ())) for life in known}

    def _calendars(self, life: Life) -> Days:
        if all(version.schedule.calendar == CalendarUse() for version in life.versions):
            return Days()
        tenant = life.job.tenant
        if tenant not in self._days:
            known = self._history.calendars(tenant)
            self._days[tenant] = Days(
                {each.calendar.name: each.calendar for each in known},
                {each.calendar.name: each.holds_from for each in known if each.holds_from},
            )
        return self._days[tenant]

    def _completed(self, case: Case) -> Case:
        """With what is asked for only where something seems to be wrong."""
        job = case.life.job
        case.expected = expected_fires(case)
        if any(said is not None for said in every_fire_has_a_run(case)):
            case.missed_before = self._history.missed_before(job.job_id, self._window.since)
            case.expected = expected_fires(case) if case.missed_before else case.expected
        stands = case.life.next_fire_at is not None
        if job.schedule.schedule_type.is_recurring and not stands and next_unplanned(case):
            case.ahead = self._history.runs_of([job.job_id], self._window.now, FAR_AHEAD)
        return case


def _by_job(runs: Sequence[Run]) -> dict[UUID, list[Run]]:
    found: dict[UUID, list[Run]] = {}
    for run in runs:
        found.setdefault(run.job_id, []).append(run)
    return found


def _look_back(lives: Sequence[Life]) -> timedelta:
    edges = [edge for life in lives for version in life.versions for edge in version.after]
    back = [
        max(LOOK_BACK, timedelta(seconds=edge.within_seconds or 0))
        for edge in edges
        if edge.rule is not EdgeRule.SAME_FIRE
    ]
    return max(back, default=timedelta(0))
