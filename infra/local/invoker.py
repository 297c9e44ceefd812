"""Stands in for EventBridge: calls the watcher with a scheduled event, again and again.

On AWS a call comes every minute and lives longer than that, so that two overlap. Here two processes
do so, each without a pause.
"""

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from infra.local.lambdas import Context

_log: Final = logging.getLogger("lamplighter.invoker")
_PAUSE_SECONDS: Final = 1.0


def main() -> None:
    """Until the process is told to end: the exception that says so unwinds the call."""
    from functions.watcher.handler import handler

    while True:
        invoke(handler)


def invoke(handler: Callable[[dict[str, Any], Any], object]) -> None:
    """One call; a failure is logged, and the next one tries again."""
    try:
        told = handler(scheduled_event(datetime.now(UTC)), Context("watcher"))
        if isinstance(told, dict) and told.get("asleep_until"):
            time.sleep(_PAUSE_SECONDS)  # a thrifty one returns at once where nothing is due
    except Exception:  # noqa: BLE001 - it must watch on, whatever it was
        _log.exception("the watcher broke; another try in %s s", _PAUSE_SECONDS)
        time.sleep(_PAUSE_SECONDS)


def scheduled_event(at: datetime) -> dict[str, Any]:
    """As EventBridge writes it: events/watcher.json."""
    return {
        "version": "0",
        "id": str(uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "local",
        "resources": ["arn:aws:events:local:000000000000:rule/lamplighter-watcher"],
        "detail": {},
    }
