"""Load: bring what will be due soon from the ledger into the queue, once, by key."""

from datetime import datetime, timedelta

from lamplighter.domain.ids import first_run_id
from lamplighter.ports.ledger import Lease, Ledger
from lamplighter.ports.queue import Queue

_PAGE = 5_000
# How long a due run may stay unclaimed before the ledger is asked about it again. The queue still
# holding it is no news: it waits for a place.
UNCLAIMED = timedelta(seconds=60)


def begin(ledger: Ledger, queue: Queue, lease: Lease) -> datetime:
    """Lead from here on. Answers from where to load: behind it, the queue has everything.

    A queue that knows less than the ledger thought has lost runs: they are loaded again from the
    watermark, below which nothing waits.
    """
    cursor = ledger.cursor()
    known = queue.begin(lease.epoch, cursor.loaded_to)
    return cursor.loaded_to if known is not None and known >= cursor.loaded_to else cursor.watermark


def load(
    ledger: Ledger, queue: Queue, lease: Lease, *, loaded_to: datetime, until: datetime
) -> datetime:
    """Page the ledger from `loaded_to` to `until`. Answers how far it has come: `until`."""
    after = first_run_id(loaded_to)
    while True:
        page = ledger.page(after, until, _PAGE)
        queue.add(page, epoch=lease.epoch)
        if len(page) < _PAGE:
            break
        after = page[-1].run_id
    # The queue first: a crash between the two loads twice, and the other order would skip.
    queue.loaded(lease.epoch, until)
    ledger.move_cursor(lease, until)
    return until


def load_awake(ledger: Ledger, queue: Queue, lease: Lease) -> int:
    """Bring what has left the plan and is due: retries, freed runs, what was found unclaimed."""
    woken = 0
    while page := ledger.wake(ledger.now(), _PAGE):
        queue.add(page, epoch=lease.epoch)
        woken += len(page)
        if len(page) < _PAGE:
            break
    return woken


def follow_up(ledger: Ledger, lease: Lease, loaded_to: datetime) -> datetime:
    """The second pass, a minute behind: what is unclaimed by then is woken, and looked at again."""
    behind = min(ledger.now() - UNCLAIMED, loaded_to)
    return ledger.advance_watermark(lease, behind).watermark
