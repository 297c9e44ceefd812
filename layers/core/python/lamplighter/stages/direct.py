"""Direct: from the ledger straight to the bus, while the queue is away.

Slower and less fair than the queue (no shares, no turns), but nothing waits for it to come back.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from lamplighter.domain.ids import epoch_ms, fire_of, first_run_id
from lamplighter.domain.ordering import aged_score
from lamplighter.domain.run import Due
from lamplighter.ports.bus import Bus
from lamplighter.ports.ledger import Ledger
from lamplighter.ports.queue import Ready
from lamplighter.stages.capacity import Window
from lamplighter.stages.tick import addressed

_PAGE: Final = 5_000
_MOST_PENDING: Final = 20_000
_MOST_REMEMBERED: Final = 50_000
_SENT_AT_ONCE: Final = 2_000
# What is due in a moment is known in time to be sent at it.
_AHEAD: Final = timedelta(seconds=0.5)
# Nobody says here that a run was submitted: one that is due at once may be written down behind the
# place where reading has come to. Later than two seconds, it has a wake-up call.
_READ_AGAIN: Final = timedelta(seconds=3)


class Direct:
    """What was found and not sent yet, and what was sent lately: both bounded."""

    def __init__(self, ledger: Ledger, bus: Bus, window: Window) -> None:
        self._ledger, self._bus, self._window = ledger, bus, window
        self._after = UUID(int=0)
        self._pending: dict[UUID, Due] = {}
        self._sent: dict[UUID, int] = {}

    def begin(self, since: datetime) -> None:
        """Read from there; also again, after a queue that was back for a moment only."""
        self._after = first_run_id(since)

    @property
    def found_to(self) -> datetime:
        return fire_of(self._after)

    def find(self, now: datetime) -> bool:
        """Read on, by key, as far as the next moment. True: there is more, read again at once."""
        if len(self._pending) >= _MOST_PENDING:
            return False
        page = self._ledger.page(self._after, now + _AHEAD, _PAGE)
        self._put(run for run in page if self._sent.get(run.run_id) != run.fence)
        if len(page) == _PAGE:
            self._after = page[-1].run_id
            return True
        self._after = max(self._after, first_run_id(now - _READ_AGAIN))
        return False

    def wake(self, now: datetime) -> int:
        """What has left the plan and is due. Sent once more, if it was before: it is still here."""
        page = self._ledger.wake(now, _PAGE)
        self._put(page)
        return len(page)

    def _put(self, runs: Iterable[Due]) -> None:
        self._pending.update((run.run_id, run) for run in runs)

    def publish(self, now: datetime) -> list[Ready]:
        """Send what is due, the most urgent first, as far as there is room for it."""
        chosen = self._chosen(now)
        if not chosen:
            return []
        ready = [_ready(run) for run in chosen]
        self._bus.publish(addressed(ready, self._window))
        for run in chosen:
            del self._pending[run.run_id]
            self._sent[run.run_id] = run.fence
        for run_id in list(self._sent)[: max(0, len(self._sent) - _MOST_REMEMBERED)]:
            del self._sent[run_id]
        return ready

    def _chosen(self, now: datetime) -> list[Due]:
        now_ms, free = epoch_ms(now), self._window.free()
        due = [run for run in self._pending.values() if run.due_at <= now]
        due.sort(key=lambda run: aged_score(run.priority, epoch_ms(run.due_at), now_ms))
        chosen: list[Due] = []
        for run in due:
            if free.get(run.pool, 0) > 0 and len(chosen) < _SENT_AT_ONCE:
                free[run.pool] -= 1
                chosen.append(run)
        return chosen

    def next_due(self, now: datetime) -> datetime | None:
        """Of those that wait for their time, not for a place."""
        return min((r.due_at for r in self._pending.values() if r.due_at > now), default=None)


def _ready(run: Due) -> Ready:
    return Ready(run.run_id, run.fence, run.priority, run.pool, run.tenant)
