"""Record: fold what workers report into the ledger, in whole batches, and tell who waits for it.

Truth first: only the ledger, and those that wait for a run or are to be woken for it, can make a
batch fail and be delivered again. What follows from it (stages/aftermath.py) is tried once, and can
not.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import UUID

from lamplighter.contracts.bundles import alone, read_job_events
from lamplighter.contracts.dead_letters import dead_letter
from lamplighter.contracts.messages import (
    DependencyEvent,
    JobEvent,
    WorkerEvent,
    encode,
    read_worker,
)
from lamplighter.contracts.msk import read_each
from lamplighter.contracts.topics import DEPENDENCY_EVENTS, JOB_EVENTS, WORKER_EVENTS
from lamplighter.domain.errors import LamplighterError, LedgerUnavailable
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus, BusUnavailable, Message, Record
from lamplighter.ports.cache import Cache
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import QueueUnavailable
from lamplighter.ports.rollups import WorkerNote
from lamplighter.stages.aftermath import Aftermath, Folded, seen
from lamplighter.stages.alert import Alarm
from lamplighter.stages.mishaps import Mishaps
from lamplighter.telemetry.logs import keys, listed

_log: Final = logging.getLogger("lamplighter.record")
_AT_ONCE: Final = 4_000

Told = tuple[Record, JobEvent]
Unread = tuple[Record, str]  # with the reason


class Recorder:
    """Many batches at once, if need be: nothing here belongs to one of them."""

    def __init__(  # noqa: PLR0913 - two ports, and each favour by its name
        self,
        ledger: Ledger,
        bus: Bus,
        cache: Cache | None = None,
        alarm: Alarm | None = None,
        measure: Callable[[Folded], None] | None = None,
        *,
        wake: Callable[[], None] = lambda: None,
        buried: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`measure` is told what became of a batch, for metrics beside the ledger's own.

        `wake` ends the leader's sleep: a retry, or a run that was handed a slot, is soon due.
        `buried` is told of dead letters.
        """
        self._ledger, self._bus = ledger, bus
        self._wake, self._buried = wake, buried
        self._mishaps = Mishaps(ledger, alarm or Alarm([]))
        self._aftermath = Aftermath(ledger, bus, cache, self._mishaps, measure)

    def handle(self, records: Sequence[Record]) -> list[Record]:
        """Of `job-events` and `worker-events`. Answers with those to be delivered again."""
        jobs = read_job_events(_of(records, JOB_EVENTS.name))
        workers = read_each(_of(records, WORKER_EVENTS.name), read_worker)
        try:
            self.note([event for _, event in workers.good])
            odd = self._record_all(jobs.good)
            # Last, so that what is delivered again is not buried again.
            self._bury([*jobs.unreadable, *odd, *workers.unreadable])
        except (LedgerUnavailable, BusUnavailable) as away:
            _log.warning("%d events to be delivered again: %s", len(records), away)
            return list(records)
        return []

    def _record_all(self, told: Sequence[Told]) -> list[Unread]:
        """Bundles may hold more than a transaction should. Answers with what nobody can record."""
        pages = (told[start : start + _AT_ONCE] for start in range(0, len(told), _AT_ONCE))
        return [odd for page in pages for odd in self._record_page(page)]

    def _record_page(self, told: Sequence[Told]) -> list[Unread]:
        """Halved until what breaks it stands alone: an odd event takes none of the others along."""
        try:
            self.record([event for _, event in told])
        except (LedgerUnavailable, BusUnavailable):
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, it is this event's alone
            if len(told) > 1:
                half = len(told) // 2
                return self._record_page(told[:half]) + self._record_page(told[half:])
            _log.exception("an event could not be recorded")
            return [(alone(*told[0]), f"{type(problem).__name__}: {problem}")]
        return []

    def record(self, events: Sequence[JobEvent], *, bus_is_away: bool = False) -> Folded:
        """`bus_is_away`: known to be, so that nobody waits for it again."""
        outcomes = [event.outcome for event in events if event.outcome is not None]
        answers = self._ledger.finish(outcomes) if outcomes else []
        settled = iter(answers)
        folded = Folded([seen(event, next(settled) if event.outcome else None) for event in events])
        if outcomes:
            ids = listed(_log, (outcome.run_id for outcome in outcomes))
            _log.info("outcomes recorded", extra=keys(runs=len(outcomes), run_ids=ids))
        if folded.ended:
            fail_point(FailPoint.RECORD_COMMITTED)
            self._tell_dependents(folded, bus_is_away=bus_is_away)
            fail_point(FailPoint.RECORD_TOLD)
        # A plain success frees nothing; whatever else was judged may have let another run go.
        if any(each.run is not None for each in answers):
            with suppress(QueueUnavailable):  # the leader looks by itself, a moment later
                self._wake()
        # Before any favour: if nobody can say who is to be woken, the batch comes again whole.
        alerts = self._mishaps.among(folded.bad_endings)
        self._aftermath.follow(folded, alerts, bus_is_away=bus_is_away)
        return folded

    def note(self, events: Sequence[WorkerEvent]) -> None:
        """Who came and who went."""
        self._ledger.note_workers(
            [
                WorkerNote(each.worker_id, each.pool, each.capacity, each.event_type.value, each.at)
                for each in events
            ]
        )

    def _bury(self, unreadable: Sequence[Unread]) -> None:
        if unreadable:
            self._bus.publish([dead_letter(each, why, "recorder") for each, why in unreadable])
            fail_point(FailPoint.BURY_PUBLISHED)
            self._buried(len(unreadable))

    def _tell_dependents(self, folded: Folded, *, bus_is_away: bool) -> None:
        """By the bus; where that is away, the ledger does what the resolver would have asked.

        Of most runs nobody waits for the end: a look at the graph is cheaper than a message.
        """
        awaited = self._ledger.awaited({each.job_id: each.tenant for each in folded.ended.values()})
        told = {run: each for run, each in folded.ended.items() if each.job_id in awaited}
        if told and (bus_is_away or not self._publish(_dependency_messages(told))):
            self._ledger.free_dependents(list(told))

    def _publish(self, messages: Sequence[Message]) -> bool:
        try:
            self._bus.publish(messages)
        except LamplighterError as away:  # or the topic is: the outcomes are recorded all the same
            _log.warning("dependents of %d runs are freed here: %s", len(messages), away)
            return False
        return True


def _of(records: Iterable[Record], topic: str) -> list[Record]:
    return [each for each in records if each.topic == topic]


def _dependency_messages(ended: Mapping[UUID, JobEvent]) -> list[Message]:
    topic = DEPENDENCY_EVENTS.name
    return [
        Message(topic, encode(DependencyEvent(event.job_id, run_id)), event.job_id.bytes)
        for run_id, event in ended.items()
    ]
