"""Mishaps: for which runs that ended badly somebody has to be woken, once."""

import logging
import threading
from collections.abc import Collection, Sequence
from typing import Final
from uuid import UUID

from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.errors import LedgerUnavailable
from lamplighter.domain.ids import fire_of
from lamplighter.domain.states import RunState
from lamplighter.ports.alerts import Alert
from lamplighter.ports.ledger import Ledger
from lamplighter.stages.alert import Alarm
from lamplighter.stages.rollup import Ending, ended_at

_log: Final = logging.getLogger("lamplighter.alert")
_REMEMBERED: Final = 10_000


class Mishaps:
    """Told of every bad end, also of one that was recorded before: by a process that died of it.

    What this process has alerted of is remembered, so that an ordinary repetition rings once. That
    of another process is not known here: the alert's `dedup_key` is the same.
    """

    def __init__(self, ledger: Ledger, alarm: Alarm, *, remembered: int = _REMEMBERED) -> None:
        self._ledger, self._alarm = ledger, alarm
        self._most = remembered
        self._alerted: dict[UUID, None] = {}
        self._lock = threading.Lock()

    def among(self, bad: Sequence[Ending]) -> list[Alert]:
        """Alerts that are due. LedgerUnavailable: nobody knows, and all is to be told again."""
        if self._alarm.is_silent:
            return []
        untold = [(event, state) for event, state in bad if event.run_id not in self._alerted]
        try:
            return self._alerts(untold) if untold else []
        except LedgerUnavailable:
            raise
        except Exception:  # noqa: BLE001 - an event that is odd must not come again and again
            _log.exception("nobody was alerted of %d runs that may matter", len(untold))
            return []

    def alert(self, alerts: Sequence[Alert]) -> None:
        fresh = self._remember(alerts)
        if fresh:
            self._alarm.sound(fresh)

    def _alerts(self, bad: Sequence[Ending]) -> list[Alert]:
        critical = self._ledger.critical_jobs({event.job_id for event, _ in bad})
        return [
            _alert_of(event, event.run_id, state, critical[event.job_id])
            for event, state in bad
            if event.job_id in critical and event.run_id is not None
        ]

    def _remember(self, alerts: Collection[Alert]) -> list[Alert]:
        """Those that were new. A batch may have the same end twice, as may two at once."""
        with self._lock:
            fresh = {each.run_id: each for each in alerts if each.run_id not in self._alerted}
            self._alerted.update(dict.fromkeys(fresh))
            while len(self._alerted) > self._most:
                del self._alerted[next(iter(self._alerted))]
        return list(fresh.values())


def _alert_of(event: JobEvent, run_id: UUID, state: RunState, name: str) -> Alert:
    return Alert(
        tenant=event.tenant,
        job_id=event.job_id,
        job_name=name,
        run_id=run_id,
        status=state.name,
        error=event.error if event.outcome is None else event.outcome.error,
        attempt=event.attempt,
        fire_at=fire_of(run_id),
        ended_at=ended_at(event),
    )
