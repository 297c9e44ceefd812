"""News: what happened to runs, told to whoever reads `job-events`. Readers may miss it.

Of an end that no worker reports, the recorder learns from here: it counts it, and tells those that
wait for the run; where the bus is away, they are told without it.
"""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from lamplighter.contracts.bundles import job_event_messages
from lamplighter.contracts.messages import JobEvent, added, scheduled, stood, submitted
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.domain.run import Accepted, Due, Recorded, Settled, Submission, new_runs
from lamplighter.ports.bus import Bus, Message
from lamplighter.ports.ledger import Ledger, Planned
from lamplighter.stages.effort import Effort
from lamplighter.stages.outbox import Outbox

_log: Final = logging.getLogger("lamplighter.news")
_ROOM: Final = 100_000  # two for a job

Publish = Callable[[Sequence[Message]], None]


def tell(bus: Bus, news: Sequence[JobEvent]) -> bool:
    """Whether the bus has it."""
    if not news:
        return True
    try:
        bus.publish(job_event_messages(news))
    except LamplighterError as away:
        _log.warning("%d pieces of news were not told: %s", len(news), away)
        return False
    return True


def settled_news(settled: Sequence[Settled]) -> list[JobEvent]:
    """Of what the ledger has just settled by itself: skipped, cancelled, lost, freed, retried."""
    runs = [each.run for each in settled if each.recorded is Recorded.ACCEPTED]
    return [news for run in runs if run is not None and (news := stood(run)) is not None]


def tell_settled(ledger: Ledger, bus: Bus, settled: Sequence[Settled]) -> None:
    """The one call for whoever got `Settled` from the ledger and is not the recorder."""
    if tell(bus, settled_news(settled)):
        return
    ended = [each.run_id for each in settled if each.state is not None and each.state.is_final]
    try:
        ledger.free_dependents(ended)
    except LedgerUnavailable as away:
        # The sweep finds blocked runs whose upstreams are done when their time is over.
        _log.warning("dependents of %d runs were not told: %s", len(ended), away)


def submitted_news(
    submissions: Sequence[Submission], accepted: Accepted, at: datetime
) -> list[JobEvent]:
    """Of jobs that are new, and of their first runs: a request that came twice is no news."""
    jobs = [
        submitted(each.job, each.first_fire, at)
        for each in submissions
        if each.job.job_id in accepted.created
    ]
    # A status to keep for each of them costs a batch a third of its speed. Who asks before the run
    # has begun asks the ledger.
    runs = [scheduled(run, at, is_kept=False) for run in accepted.first]
    return [*jobs, *runs, *settled_news(accepted.judged)]


def added_news(job_id: UUID, runs: Sequence[Due], at: datetime) -> list[JobEvent]:
    """Of the runs that somebody asked for beside the schedule."""
    return [added(job_id, run, at) for run in runs]


def planned_news(
    planned: Sequence[Planned], written: Sequence[Due], at: datetime
) -> list[JobEvent]:
    """Of the runs that planning has written down."""
    there = {due.run_id for due in written}
    runs = [run for each in planned for fire in each.fires for run in new_runs(each.job, fire)]
    return [scheduled(run, at) for run in runs if run.run_id in there]


class Announcer:
    """Tells by and by. A bus that is away delays nobody, and the news of that time are lost.

    `wait_seconds` is for where a process is stopped as soon as it has answered.
    """

    def __init__(self, publish: Publish, *, wait_seconds: float = 0.0) -> None:
        self._publish = publish
        self._wait = wait_seconds
        self._effort = Effort("telling news")
        self._outbox: Outbox[JobEvent] = Outbox("news", self._send, room=_ROOM)

    def __call__(self, news: Sequence[JobEvent]) -> None:
        self._outbox.put(news)
        if self._wait and not self._effort.is_resting:
            self._outbox.drain(self._wait)

    def drain(self, seconds: float) -> bool:
        return self._outbox.drain(seconds)

    def _send(self, news: list[JobEvent]) -> None:
        self._effort.make(lambda: self._publish(job_event_messages(news)))
