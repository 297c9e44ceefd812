"""Housekeeping: what may take long and can wait a little, in a thread beside the leader's loop."""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Self

from lamplighter.domain.errors import LamplighterError, LeaseLost, LedgerUnavailable
from lamplighter.domain.run import Settled
from lamplighter.fail_points import FailPoint, fail_point
from lamplighter.ports.ledger import Lease
from lamplighter.stages.duties import Duties, some
from lamplighter.stages.load import follow_up
from lamplighter.stages.news import settled_news, tell
from lamplighter.stages.post import Post
from lamplighter.stages.sweep import SILENCE, may_go_on, strike_off, tend

_log: Final = logging.getLogger("lamplighter.watcher")
_JOIN_SECONDS: Final = 1.0
_SETTLE_AGAIN: Final = 1.0


class Housekeeping:
    """As long as the term lasts. Retiring a day of history may take minutes; a lease lasts 1.5 s.

    Everything here is decided by the ledger, row by row: a thread that outlives its term by one
    duty does no harm.
    """

    def __init__(self, post: Post, lease: Lease, loaded_to: Callable[[], datetime | None]) -> None:
        self._post, self._lease = post, lease
        self._loaded_to = loaded_to
        duties = some(post.rhythm, "sweep", "settle", "follow_up", "health", "measure", "tend")
        self._duties = Duties(duties, post.steady)
        self._called = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="housekeeping", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._called.set()

    def join(self) -> None:
        self._thread.join(_JOIN_SECONDS)

    def settle_soon(self) -> None:
        self._duties.hurry("settle", _SETTLE_AGAIN)
        self._called.set()

    def _keep(self) -> None:
        while not self._over.is_set():
            for duty, do in self._due():
                if not self._over.is_set():
                    self._attempt(duty, do)
            self._post.report.rounds += 1
            self._called.wait(self._duties.until_next())
            self._called.clear()

    def _due(self) -> list[tuple[str, Callable[[], None]]]:
        all_of_them = {
            "sweep": self._sweep,
            "settle": self._settle,
            "follow_up": self._follow_up,
            "health": self._check_health,
            "measure": self._measure,
            "tend": self._tend,
        }
        return [(duty, do) for duty, do in all_of_them.items() if self._duties.due(duty)]

    def _attempt(self, duty: str, do: Callable[[], None]) -> None:
        try:
            do()
        except LeaseLost:
            self._over.set()
        except LamplighterError as error:
            if isinstance(error, LedgerUnavailable):
                self._post.continuity.broke()
            self._post.report.note(error)
            _log.warning("%s was not done: %s", duty, error)
        except Exception as error:  # noqa: BLE001 - the other duties are still to be done
            self._post.report.note(error)
            _log.exception("%s failed", duty)

    def _sweep(self) -> None:
        """Runs of silent workers go back to the queue."""
        if self._post.continuity.lasts(SILENCE):
            lost = self._post.ledger.requeue_lost(SILENCE)
            self._post.report.lost += len(lost)
            self._tell(lost)

    def _settle(self) -> None:
        """What has waited too long ends."""
        overdue = self._post.ledger.settle_overdue()
        self._post.report.overdue += len(overdue)
        self._tell(overdue)

    def _tell(self, settled: Sequence[Settled]) -> None:
        if settled:
            fail_point(FailPoint.SWEEP_COMMITTED)
        if may_go_on(settled):
            self._post.sleeper.wake()
        news = settled_news(settled)
        if news and (self._post.bus_outage.lasts or not tell(self._post.bus, news)):
            # What the recorder would have done, alerts among it: nobody else will hear of these.
            self._post.recorder.record(news, bus_is_away=True)

    def _follow_up(self) -> None:
        loaded_to = self._loaded_to()
        if loaded_to is not None:
            follow_up(self._post.ledger, self._lease, loaded_to)

    def _check_health(self) -> None:
        if self._post.continuity.lasts(2 * SILENCE):
            self._post.report.lost_workers += strike_off(self._post.ledger, self._post.bus)

    def _measure(self) -> None:
        if self._post.gauge is not None:
            self._post.gauge.look(self._post.clock.now())

    def _tend(self) -> None:
        post = self._post
        tend(post.ledger, retention=post.retention, days_ahead=post.days_ahead)
