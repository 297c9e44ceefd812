"""Aftermath: what follows once the ledger has an outcome: news, cached statuses, counts, alerts.

All of it are favours: tried once, logged where they fail, and never repeated, since an outcome is
accepted only once.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from lamplighter.contracts.bundles import job_event_messages
from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.contracts.statuses import how_new, job_status
from lamplighter.domain.ids import fire_of
from lamplighter.domain.run import Recorded, Settled
from lamplighter.domain.states import RunState
from lamplighter.ports.alerts import Alert
from lamplighter.ports.bus import Bus
from lamplighter.ports.cache import Cache, JobStatus
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.alert import Alarm
from lamplighter.stages.effort import Effort
from lamplighter.stages.news import settled_news
from lamplighter.stages.rollup import Ending, ended_at, rolled_up

_BAD: Final = (RunState.FAILED, RunState.TIMED_OUT)


class Seen(NamedTuple):
    """An event, and what the ledger said to its outcome; to news it says nothing.

    `state` is where the run stands, as far as this event may say so.
    """

    event: JobEvent
    settled: Settled | None
    state: RunState | None

    @property
    def is_first(self) -> bool:
        """The ledger had not heard of it before. News may come twice: nobody can tell."""
        return self.settled is None or self.settled.recorded is Recorded.ACCEPTED


def seen(event: JobEvent, settled: Settled | None) -> Seen:
    if settled is not None:
        stale = settled.recorded is Recorded.STALE
        return Seen(event, settled, None if stale else settled.state)
    running = event.event_type is JobEventType.RUNNING
    return Seen(event, settled, RunState.RUNNING if running else event.state)


class Folded:
    """What a batch of events came to.

    `ended` are the last events of runs that have ended, now or before: dependents are told again or
    never. `endings` are those that ended just now, for the first time.
    """

    def __init__(self, seen: Sequence[Seen]) -> None:
        self.seen = seen
        final = [each for each in seen if each.state is not None and each.state.is_final]
        self.ended = {each.event.run_id: each.event for each in final if each.event.run_id}
        self.endings: list[Ending] = [
            (each.event, each.state) for each in final if each.state is not None and each.is_first
        ]


class Aftermath:
    def __init__(
        self,
        ledger: Ledger,
        bus: Bus,
        cache: Cache | None,
        alarm: Alarm,
        measure: Callable[[Folded], None] | None,
    ) -> None:
        self._ledger, self._bus, self._cache, self._alarm = ledger, bus, cache, alarm
        self._measure = measure
        self._retrying = Effort("telling of retries")
        self._caching = Effort("keeping statuses")
        self._counting = Effort("counting endings")
        self._measuring = Effort("measuring")
        self._alerting = Effort("alerting")

    def follow(self, folded: Folded, *, bus_is_away: bool = False) -> None:
        """All of it inside an effort: an event that is odd must not come again and again."""
        if not bus_is_away:
            self._retrying.make(lambda: self._tell_of_retries(folded.seen))
        if (cache := self._cache) is not None:
            self._caching.make(lambda: cache.put_job_statuses(_newest(folded.seen)))
        if (measure := self._measure) is not None:
            self._measuring.make(lambda: measure(folded))
        endings = folded.endings
        if endings:
            self._counting.make(lambda: self._ledger.add_minutes(rolled_up(endings)))
        bad = [(event, state) for event, state in endings if state in _BAD]
        if bad and not self._alarm.is_silent:
            self._alerting.make(lambda: self._alert(bad))

    def _tell_of_retries(self, seen: Sequence[Seen]) -> None:
        retried = [each.settled for each in seen if each.state is RunState.RETRYING]
        news = settled_news([each for each in retried if each is not None])
        if news:
            self._bus.publish(job_event_messages(news))

    def _alert(self, bad: Sequence[Ending]) -> None:
        critical = self._ledger.critical_jobs({event.job_id for event, _ in bad})
        alerts = [
            _alert_of(event, event.run_id, state, critical[event.job_id])
            for event, state in bad
            if event.job_id in critical and event.run_id is not None
        ]
        if alerts:
            self._alarm.sound(alerts)


def _newest(seen: Sequence[Seen]) -> list[JobStatus]:
    """Of each job: a batch often has all that happened to a run."""
    newest: dict[int, tuple[tuple[int, int, int], JobEvent, UUID, RunState]] = {}
    for each in seen:
        event, state = each.event, each.state
        if state is None or event.run_id is None:
            continue
        order = how_new(event, event.run_id, state)
        known = newest.get(event.job_id.int)
        if known is None or known[0] <= order:
            newest[event.job_id.int] = order, event, event.run_id, state
    return [job_status(event, run_id, state) for _, event, run_id, state in newest.values()]


def _alert_of(event: JobEvent, run_id: UUID, state: RunState, name: str) -> Alert:
    return Alert(
        tenant=event.tenant,
        job_id=event.job_id,
        job_name=name,
        run_id=run_id,
        status=state.name,
        error=event.error if event.outcome is None else event.outcome.error,
        attempt=event.attempt,
        fire_at=fire_of(run_id),
        ended_at=ended_at(event),
    )
