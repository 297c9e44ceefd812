"""The ledger's rest: until when nobody needs to look at it, so that its database may pause.

A hint, never the truth: where nothing is known, or nobody can be asked, the ledger is looked at.
"""

from datetime import datetime
from typing import Protocol


class Rest(Protocol):
    """All calls raise QueueUnavailable, and nothing else, when the store cannot be reached."""

    def until(self) -> datetime | None:
        """There is nothing to do before this; None: nobody knows, look."""

    def consider(self, mark: str) -> None:
        """Before the look that decides: ends a rest, and remembers who is about to look."""

    def begin(self, mark: str, until: datetime) -> bool:
        """Rest, unless somebody has ended it, or considered it, since this mark was made."""

    def end(self) -> None:
        """Something was written down: look now. Wakes whoever listens on the queue's channel."""
