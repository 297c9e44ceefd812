"""Record: fold what workers report into the ledger, in whole batches, and tell who waits for it."""

from collections.abc import Sequence

import msgspec

from lamplighter.contracts.messages import DependencyEvent, JobEvent, encode
from lamplighter.contracts.topics import DEPENDENCY_EVENTS
from lamplighter.domain.run import Outcome, Recorded, Settled
from lamplighter.ports.bus import Bus, Message
from lamplighter.ports.ledger import Ledger


class Folded(msgspec.Struct, frozen=True):
    """What a batch of events came to."""

    settled: list[Settled]

    @property
    def ended(self) -> list[Settled]:
        """Runs that have ended, now or before: dependents are told again rather than never."""
        return [
            each
            for each in self.settled
            if each.state is not None
            and each.state.is_final
            and each.recorded is not Recorded.STALE
        ]


def record(ledger: Ledger, bus: Bus, events: Sequence[JobEvent]) -> Folded:
    """Write outcomes to the ledger, then tell the dependents: truth first, hint second."""
    folded = Folded(ledger.finish(_outcomes(events)))
    tell_dependents(bus, folded.ended)
    return folded


def _outcomes(events: Sequence[JobEvent]) -> list[Outcome]:
    return [event.outcome for event in events if event.outcome is not None]


def tell_dependents(bus: Bus, ended: Sequence[Settled]) -> None:
    messages = [
        Message(
            DEPENDENCY_EVENTS.name,
            encode(DependencyEvent(each.job_id, each.run_id)),
            each.job_id.bytes,
        )
        for each in ended
        if each.job_id is not None
    ]
    if messages:
        bus.publish(messages)
