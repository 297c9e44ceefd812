"""Aftermath: what follows once the ledger has an outcome: news, cached statuses, counts, alerts.

All of it are favours: tried once, and logged where they fail. A batch that is told again finds its
outcomes recorded: counts are not repeated, since nobody could tell whether they were made; alerts
are, since two are better than none.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from uuid import UUID

from lamplighter.contracts.bundles import job_event_messages
from lamplighter.contracts.messages import JobEvent, JobEventType
from lamplighter.contracts.statuses import how_new, job_status
from lamplighter.domain.run import Recorded, Settled
from lamplighter.domain.states import RunState
from lamplighter.ports.alerts import Alert
from lamplighter.ports.bus import Bus
from lamplighter.ports.cache import Cache, JobStatus
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.effort import Effort
from lamplighter.stages.mishaps import Mishaps
from lamplighter.stages.news import settled_news
from lamplighter.stages.rollup import Ending, rolled_up

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
    never. `endings` are those that ended just now, for the first time; `bad_endings` are told of
    also when they ended before.
    """

    def __init__(self, seen: Sequence[Seen]) -> None:
        self.seen = seen
        final = [each for each in seen if each.state is not None and each.state.is_final]
        self.ended = {each.event.run_id: each.event for each in final if each.event.run_id}
        self.endings = _endings([each for each in final if each.is_first])
        self.bad_endings = _endings([each for each in final if each.state in _BAD])


def _endings(seen: Sequence[Seen]) -> list[Ending]:
    return [(each.event, each.state) for each in seen if each.state is not None]


class Aftermath:
    def __init__(
        self,
        ledger: Ledger,
        bus: Bus,
        cache: Cache | None,
        mishaps: Mishaps,
        measure: Callable[[Folded], None] | None,
    ) -> None:
        self._ledger, self._bus, self._cache = ledger, bus, cache
        self._mishaps = mishaps
        self._measure = measure
        self._retrying = Effort("telling of retries")
        self._caching = Effort("keeping statuses")
        self._counting = Effort("counting endings")
        self._measuring = Effort("measuring")
        self._alerting = Effort("alerting", rest_seconds=0.0)

    def follow(
        self, folded: Folded, alerts: Sequence[Alert] = (), *, bus_is_away: bool = False
    ) -> None:
        """All of it inside an effort: an event that is odd must not come again and again.

        Alerts are last: somebody who does not listen may take seconds.
        """
        if not bus_is_away:
            self._retrying.make(lambda: self._tell_of_retries(folded.seen))
        if (cache := self._cache) is not None:
            self._caching.make(lambda: cache.put_job_statuses(_newest(folded.seen)))
        if (measure := self._measure) is not None:
            self._measuring.make(lambda: measure(folded))
        endings = folded.endings
        if endings:
            self._counting.make(lambda: self._ledger.add_minutes(rolled_up(endings)))
        if alerts:
            self._alerting.make(lambda: self._mishaps.alert(alerts))

    def _tell_of_retries(self, seen: Sequence[Seen]) -> None:
        retried = [each.settled for each in seen if each.state is RunState.RETRYING]
        news = settled_news([each for each in retried if each is not None])
        if news:
            self._bus.publish(job_event_messages(news))


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
