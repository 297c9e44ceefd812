"""Load: bring what will be due soon from the ledger into the queue, once, by key."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from lamplighter.domain.ids import fire_of, first_run_id
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.ledger import Lease, Ledger
from lamplighter.ports.queue import Queue

_PAGE = 5_000
# How long a due run may stay unclaimed before the ledger is asked about it again. The queue still
# holding it is no news: it waits for a place.
UNCLAIMED = timedelta(seconds=60)


class Loader:
    """Loads a stretch page by page, so that a leader can renew its lease and tick in between.

    Behind `loaded_to` the queue has everything; it says so at the end of a stretch.
    """

    def __init__(self, ledger: Ledger, queue: Queue, lease: Lease) -> None:
        self._ledger, self._queue, self._lease = ledger, queue, lease
        cursor = ledger.cursor()
        self._watermark = cursor.watermark
        self.loaded_to = queue.begin(lease.epoch, cursor.loaded_to, cursor.watermark)
        self._said = self.loaded_to
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
        self.loaded_to, self._said, self._until = until, until, None

    @contextmanager
    def unsure(self) -> Iterator[None]:
        """While the ledger may have runs behind `loaded_to` that the queue has not.

        Should this leader die meanwhile, the next one loads again, and not what is ahead alone.
        """
        self._queue.loaded(self._lease.epoch, self._watermark)
        yield
        self._queue.loaded(self._lease.epoch, self._said)


def load_awake(ledger: Ledger, queue: Queue, lease: Lease, now: datetime) -> int:
    """Bring what has left the plan and is due: retries, freed runs, what was found unclaimed."""
    page = ledger.wake(now, _PAGE)
    queue.add(page, epoch=lease.epoch)
    return len(page)


def follow_up(ledger: Ledger, lease: Lease, loaded_to: datetime) -> datetime:
    """The second pass, a minute behind: what is unclaimed by then is woken, and looked at again."""
    behind = min(ledger.now() - UNCLAIMED, loaded_to)
    return ledger.advance_watermark(lease, behind).watermark
