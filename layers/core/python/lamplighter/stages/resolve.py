"""Resolve: free what waited for runs that have ended, and skip what will never be free."""

import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lamplighter.contracts.messages import DependencyEvent
from lamplighter.domain.run import Settled
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Queue, QueueUnavailable
from lamplighter.stages.news import settled_news, tell
from lamplighter.telemetry.logs import keys, listed

if TYPE_CHECKING:
    from lamplighter.stages.trace import Tracer

_log = logging.getLogger("lamplighter.resolve")


def resolve(
    ledger: Ledger,
    queue: Queue,
    events: Sequence[DependencyEvent],
    bus: Bus | None = None,
    *,
    tracer: "Tracer | None" = None,
) -> list[Settled]:
    """Judge the dependents of these runs, and wake the leader where one is free to go.

    A freed run has a wake-up call in the ledger, so nothing is lost when the queue is away. Whoever
    waits for one that is skipped was judged in the same call: the news is for readers and counts.
    """
    settled = ledger.free_dependents([event.run_id for event in events])
    if settled:
        ids = listed(_log, (each.run_id for each in settled))
        after = listed(_log, (event.run_id for event in events))
        _log.info("dependents judged", extra=keys(run_ids=ids, upstream_run_ids=after))
    if any(each.wake_at is not None for each in settled):
        fail_point(FailPoint.RESOLVE_COMMITTED)
        # Where the queue is away, the leader looks at wake-up calls by itself, a moment later.
        with suppress(QueueUnavailable):
            queue.wake()
    if tracer is not None:
        tracer.freed(ledger, events, settled)
    if bus is not None:
        tell(bus, settled_news(settled))
    return settled
