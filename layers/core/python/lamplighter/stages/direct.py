"""Direct: from the ledger straight to the bus, while the queue is away.

Slower and less fair than the queue (no shares, no turns), but nothing waits for it to come back.
"""

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
# Of each pool: what one without workers has waiting is no reason to leave the others unread.
_MOST_PENDING: Final = 20_000
_MOST_REMEMBERED: Final = 50_000
_SENT_AT_ONCE: Final = 2_000
# What is due in a moment is known in time to be sent at it.
_AHEAD: Final = timedelta(seconds=0.5)
# Nobody says here that a run was submitted: one that is due at once may be written down behind the
# place where reading has come to. Later than two seconds, it has a wake-up call.
_READ_AGAIN: Final = timedelta(seconds=3)
_STANDS_AFTER: Final = timedelta(seconds=60)


class _Lane:
    """What was found for a pool and not sent yet; and where it was left, when that was enough."""

    def __init__(self, now: datetime) -> None:
        self.runs: dict[UUID, Due] = {}
        self.left_at: UUID | None = None
        self.sent_at = now

    def put(self, run: Due, most: int) -> bool:
        if run.run_id not in self.runs and len(self.runs) >= most:
            return False
        self.runs[run.run_id] = run
        return True

    def rejoin(self) -> None:
        self.left_at = None

    @property
    def has_to_catch_up(self) -> bool:
        return self.left_at is not None and len(self.runs) <= _MOST_PENDING // 2


class Direct:
    """What was found and not sent yet, and what was sent lately: both bounded."""

    def __init__(self, ledger: Ledger, bus: Bus, window: Window) -> None:
        self._ledger, self._bus, self._window = ledger, bus, window
        self._after = UUID(int=0)
        self._lanes: dict[str, _Lane] = {}
        self._sent: dict[UUID, int] = {}
        self.found_to = fire_of(self._after)

    def begin(self, since: datetime) -> None:
        """Read from there; also again, after a queue that was back for a moment only."""
        self._after = first_run_id(since)
        self.found_to = fire_of(self._after)
        for lane in self._lanes.values():
            lane.rejoin()

    def find(self, now: datetime) -> bool:
        """Read on, by key, as far as the next moment. True: there is more, read again at once."""
        for pool, lane in self._lanes.items():
            if lane.has_to_catch_up:
                self._catch_up(pool, lane, now)
        page = self._ledger.page(self._after, now + _AHEAD, _PAGE)
        for run in page:
            self._found(run, self._lane(run.pool, now))
        is_more = len(page) == _PAGE
        recent = max(self._after, first_run_id(now - _READ_AGAIN))
        self._after = page[-1].run_id if is_more else recent
        self.found_to = fire_of(min([self._after, *self._moving(now)]))
        return is_more or any(lane.has_to_catch_up for lane in self._lanes.values())

    def _lane(self, pool: str, now: datetime) -> _Lane:
        if pool not in self._lanes:
            self._lanes[pool] = _Lane(now)
        return self._lanes[pool]

    def _found(self, run: Due, lane: _Lane) -> None:
        if lane.left_at is not None or self._sent.get(run.run_id) == run.fence:
            return
        if not lane.put(run, _MOST_PENDING):
            lane.left_at = UUID(int=run.run_id.int - 1)

    def _catch_up(self, pool: str, lane: _Lane, now: datetime) -> None:
        """Read on for a pool that was left behind, until it is where the others are."""
        page = self._ledger.page(lane.left_at or self._after, now + _AHEAD, _PAGE)
        lane.rejoin()
        for run in page:
            if run.pool == pool:
                self._found(run, lane)
        if lane.left_at is None and len(page) == _PAGE and page[-1].run_id < self._after:
            lane.left_at = page[-1].run_id

    def _moving(self, now: datetime) -> list[UUID]:
        """Where pools were left that are still served: what lies there is read in its turn.

        What lies there for a pool that stands gets a wake-up call, and holds nothing back.
        """
        served = (each for each in self._lanes.values() if each.sent_at > now - _STANDS_AFTER)
        return [lane.left_at for lane in served if lane.left_at is not None]

    def wake(self, now: datetime) -> int:
        """What has left the plan and is due. Sent once more, if it was before: it is still here."""
        page = self._ledger.wake(now, _PAGE)
        for run in page:
            # With room of its own: a retry is not to wait until all that was found is sent. What
            # finds none is called again in a minute.
            self._lane(run.pool, now).put(run, 2 * _MOST_PENDING)
        return len(page)

    def publish(self, now: datetime) -> list[Ready]:
        """Send what is due, the most urgent first, as far as there is room for it."""
        chosen = self._chosen(now)
        if not chosen:
            return []
        ready = [_ready(run) for run in chosen]
        self._bus.publish(addressed(ready, self._window))
        for run in chosen:
            self._lanes[run.pool].sent_at = now
            del self._lanes[run.pool].runs[run.run_id]
            self._sent[run.run_id] = run.fence
        for run_id in list(self._sent)[: max(0, len(self._sent) - _MOST_REMEMBERED)]:
            del self._sent[run_id]
        return ready

    def _chosen(self, now: datetime) -> list[Due]:
        now_ms, free = epoch_ms(now), self._window.free()
        open_to = [lane for pool, lane in self._lanes.items() if free.get(pool, 0) > 0]
        due = [run for lane in open_to for run in lane.runs.values() if run.due_at <= now]
        due.sort(key=lambda run: aged_score(run.priority, epoch_ms(run.due_at), now_ms))
        chosen: list[Due] = []
        for run in due:
            if free[run.pool] > 0 and len(chosen) < _SENT_AT_ONCE:
                free[run.pool] -= 1
                chosen.append(run)
        return chosen

    def next_due(self, now: datetime) -> datetime | None:
        """Of those that wait for their time, not for a place."""
        waiting = (run.due_at for lane in self._lanes.values() for run in lane.runs.values())
        return min((due_at for due_at in waiting if due_at > now), default=None)


def _ready(run: Due) -> Ready:
    return Ready(run.run_id, run.fence, run.priority, run.pool, run.tenant)
