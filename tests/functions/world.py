"""A ledger in memory under a wound clock, a desk over it, and a client in front."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from lamplighter.adapters.memory.clock import WoundClock
from lamplighter.adapters.memory.listing import MemoryQueryLedger
from lamplighter.domain.run import Due, Outcome, Ticket, Verdict
from lamplighter.stages.desk import Desk
from tests.functions.calling import Client

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class World:
    def __init__(self) -> None:
        self.clock = WoundClock(NOON)
        self.ledger = MemoryQueryLedger(self.clock)
        self.hinted: list[Due] = []
        self.desk = Desk(ledger=self.ledger, now=self.ledger.now, hint=self._hint)
        self.call = Client(lambda: self.desk)

    def _hint(self, runs: Sequence[Due]) -> None:
        self.hinted += runs

    def wind(self, **by: float) -> datetime:
        return self.clock.wind(timedelta(**by))

    def claim(self, run_id: UUID, fence: int = 0, worker: str = "executor-007") -> int:
        """The fence under which it runs now."""
        claim_id = UUID(int=hash((run_id, fence)) % 2**128)
        [claimed] = self.ledger.claim(worker, claim_id, [Ticket(run_id, fence)]).claimed
        return claimed.fence

    def finish(
        self, run_id: UUID, fence: int, verdict: Verdict = Verdict.SUCCESS, error: str | None = None
    ) -> None:
        outcome = Outcome(run_id=run_id, fence=fence, verdict=verdict, error=error)
        self.ledger.finish([outcome])
