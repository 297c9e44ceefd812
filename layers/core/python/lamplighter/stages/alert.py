"""Alert: wake somebody when a job that matters has failed, without holding anything up."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from lamplighter.ports.alerts import Alert, AlertFailed, Alerts
from lamplighter.stages.outbox import Outbox

_log: Final = logging.getLogger("lamplighter.alert")
_ROOM: Final = 1_000
_TRIES: Final = 3
_PAUSE_SECONDS: Final = 1.0
# Where a process is stopped as soon as it has answered, an alert gets so long to leave before that.
WAIT_SECONDS: Final = 5.0


class Alarm:
    """Each way gets each alert, a bounded number of times, from a thread of its own.

    Of its own, so that one that hangs delays no other.
    """

    def __init__(
        self,
        ways: Sequence[Alerts],
        *,
        wait_seconds: float = WAIT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._outboxes = [self._outbox(way) for way in ways]
        self._wait = wait_seconds
        self._sleep = sleep

    def _outbox(self, way: Alerts) -> Outbox[Alert]:
        def send(alerts: list[Alert]) -> None:
            for alert in alerts:
                self._send(way, alert)

        return Outbox("alerts", send, room=_ROOM)

    @property
    def is_silent(self) -> bool:
        """Nobody is reached by it."""
        return not self._outboxes

    def sound(self, alerts: Sequence[Alert]) -> None:
        """Returns when they got through, or after some seconds; then they go on by themselves."""
        for outbox in self._outboxes:
            outbox.put(alerts)
        end = time.monotonic() + self._wait
        for outbox in self._outboxes:
            outbox.drain(max(0.0, end - time.monotonic()))

    def _send(self, way: Alerts, alert: Alert) -> None:
        for last, pause in ((n == _TRIES - 1, _PAUSE_SECONDS * 2**n) for n in range(_TRIES)):
            try:
                way.send(alert)
            except AlertFailed as problem:
                if last or not problem.retryable:
                    _log.error("nobody was alerted of run %s: %s", alert.run_id, problem)
                    return
                self._sleep(pause)
            else:
                _log.info("alerted of run %s by %s", alert.run_id, type(way).__name__)
                return
