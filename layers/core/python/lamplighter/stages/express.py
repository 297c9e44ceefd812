"""Express: while the leader is busy with a flood, those who ask for little are let through.

A turn of the leader pops thousands of runs, and lasts until the bus has acknowledged them all: that
is what makes it fast, and what a single run of somebody else would wait for. So a thread beside it
serves the places that are kept for such, a handful of runs at a time.
"""

import logging
import threading
from collections.abc import Callable
from typing import Final, Self

from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.ledger import Lease
from lamplighter.stages.post import Post
from lamplighter.stages.tick import publish

_log: Final = logging.getLogger("lamplighter.watcher")
_POPPED_AT_ONCE: Final = 100
# How often it looks while there is a flood. A look that finds nothing costs the queue 60 µs.
_LOOK_SECONDS: Final = 0.005
_JOIN_SECONDS: Final = 1.0


class Express:
    """As long as the term lasts. Asleep but for a flood, of which the leader tells it."""

    def __init__(self, post: Post, lease: Callable[[], Lease], owe: Callable[[], None]) -> None:
        """`owe` is called where something may be left in flight: the leader sees to that."""
        self._post, self._lease, self._owe = post, lease, owe
        self._flooded = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="express", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._flooded.set()

    def join(self) -> None:
        self._thread.join(_JOIN_SECONDS)

    def flood(self, *, lasts: bool) -> None:
        if lasts:
            self._flooded.set()
        elif not self._over.is_set():
            self._flooded.clear()

    def _keep(self) -> None:
        while self._flooded.wait() and not self._over.is_set():
            try:
                self._serve()
            except LamplighterError as error:
                # The leader meets the same trouble, and knows what to do about it.
                _log.warning("nothing was let through: %s", error)
                self._owe()
                self.flood(lasts=False)
            self._over.wait(_LOOK_SECONDS)

    def _serve(self) -> None:
        post, lease = self._post, self._lease()
        kept = post.window.kept()
        if not any(kept.values()):
            return
        none = dict.fromkeys(kept, 0)
        turn = post.queue.tick(lease.epoch, post.clock.now(), none, _POPPED_AT_ONCE, kept)
        publish(post.queue, post.bus, lease, turn.runs, post.window)
        post.report.let_through += len(turn.runs)
