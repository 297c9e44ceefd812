"""Load: bring what will be due soon from the ledger into the queue, once, by key."""

from datetime import datetime, timedelta
from uuid import UUID

from lamplighter.domain.ids import epoch_ms, fire_of, first_run_id
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.ledger import Lease, Ledger
from lamplighter.ports.queue import Queue

_PAGE = 5_000
# How long a due run may stay unclaimed before the ledger is asked about it again. The queue still
# holding it is no news: it waits for a place.
UNCLAIMED = timedelta(seconds=60)


class Loader:
    """Loads a stretch page by page, so that a leader can renew its lease and tick in between.

    Behind `loaded_to` the queue has everything.
    """

    def __init__(self, ledger: Ledger, queue: Queue, lease: Lease) -> None:
        self._ledger, self._queue, self._lease = ledger, queue, lease
        self.loaded_to = begin(ledger, queue, lease)
        self._until: datetime | None = None
        self._after: UUID = first_run_id(self.loaded_to)

    @property
    def is_busy(self) -> bool:
        return self._until is not None

    def start(self, until: datetime) -> None:
        """Go on to there, unless a stretch is under way."""
        if self._until is None and until > self.loaded_to:
            self._until, self._after = until, first_run_id(self.loaded_to)

    def step(self) -> int:
        """Load the next page, if there is one to load. How many runs it had."""
        if self._until is None:
            return 0
        page = self._ledger.page(self._after, self._until, _PAGE)
        self._queue.add(page, epoch=self._lease.epoch)
        if len(page) < _PAGE:
            self._arrive(self._until)
        else:
            self._after = page[-1].run_id
            self.loaded_to = fire_of(self._after)
        return len(page)

    def _arrive(self, until: datetime) -> None:
        # The queue first: a crash between the two loads twice, and the other order would skip.
        self._queue.loaded(self._lease.epoch, until)
        fail_point(FailPoint.LOAD_ADDED)
        self._ledger.move_cursor(self._lease, until)
        self.loaded_to, self._until = until, None


def begin(ledger: Ledger, queue: Queue, lease: Lease) -> datetime:
    """Lead from here on. Answers from where to load: behind it, the queue has everything.

    A queue that knows less than the ledger thought has lost runs: they are loaded again from the
    watermark, below which nothing waits. That is said in the queue at once, or a leader that dies
    on the way would leave the next one in the belief that all of it is there.
    """
    cursor = ledger.cursor()
    known = queue.begin(lease.epoch, cursor.loaded_to)
    # The queue keeps milliseconds, as run ids do.
    if known is not None and epoch_ms(known) >= epoch_ms(cursor.loaded_to):
        return cursor.loaded_to
    queue.loaded(lease.epoch, cursor.watermark)
    return cursor.watermark


def load_awake(ledger: Ledger, queue: Queue, lease: Lease, now: datetime) -> int:
    """Bring what has left the plan and is due: retries, freed runs, what was found unclaimed."""
    page = ledger.wake(now, _PAGE)
    queue.add(page, epoch=lease.epoch)
    return len(page)


def follow_up(ledger: Ledger, lease: Lease, loaded_to: datetime) -> datetime:
    """The second pass, a minute behind: what is unclaimed by then is woken, and looked at again."""
    behind = min(ledger.now() - UNCLAIMED, loaded_to)
    return ledger.advance_watermark(lease, behind).watermark
