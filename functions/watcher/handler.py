"""Watcher: brings what is due to the bus. After submit on a job's way; the executor comes next."""

import logging
from typing import Any

import msgspec

from lamplighter import wiring
from lamplighter.telemetry.logs import keys

_log = logging.getLogger("lamplighter.watcher")
# What a leader needs at the end of its time to hand the lease on.
_MARGIN_SECONDS = 5.0


@wiring.invoked
def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ARG001 - Lambda's
    """A scheduled event in, what the loop did out. Lives past the next event: two overlap."""
    left = context.get_remaining_time_in_millis() / 1000 - _MARGIN_SECONDS
    report = wiring.watcher().watch(min(left, wiring.settings().watch_seconds))
    told: dict[str, Any] = msgspec.to_builtins(report)
    _log.info("watched", extra=keys(**told))
    return told
