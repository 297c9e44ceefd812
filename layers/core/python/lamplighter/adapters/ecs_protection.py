"""Keeps ECS from taking away a task that has runs in hand, as long as it has them.

A service that scales in chooses by itself which tasks end, and Fargate waits two minutes at most.
The agent beside the task is asked, not ECS itself: that needs no endpoint in the network.
"""

import logging
import time
import urllib.request
from collections.abc import Callable
from typing import Final

import msgspec

_log: Final = logging.getLogger("lamplighter.protection")
# Protection ends by itself, so that a worker that hangs is not kept for ever; while runs go on it
# is asked for again, long before that.
EXPIRES_MINUTES: Final = 60
_RENEW_SECONDS: Final = EXPIRES_MINUTES * 60 / 2
_RETRY_SECONDS: Final = 10.0
_ANSWER_SECONDS: Final = 2.0


class TaskProtection:
    """Called often; asks the agent only where something has changed, or must be renewed."""

    def __init__(self, agent: str, steady: Callable[[], float] = time.monotonic) -> None:
        """`agent` is what ECS tells its tasks as ECS_AGENT_URI."""
        self._address = f"{agent}/task-protection/v1/state"
        self._steady = steady
        self._is_on = False
        self._renew_at = self._retry_at = float("-inf")

    def __call__(self, *, busy: bool) -> None:
        now = self._steady()
        is_over = busy and now >= self._renew_at
        if (busy == self._is_on and not is_over) or now < self._retry_at:
            return
        if self._ask(enabled=busy):
            self._is_on, self._renew_at = busy, now + _RENEW_SECONDS
        else:
            self._retry_at = now + _RETRY_SECONDS

    def _ask(self, *, enabled: bool) -> bool:
        wanted: dict[str, object] = {"ProtectionEnabled": enabled}
        if enabled:
            wanted["ExpiresInMinutes"] = EXPIRES_MINUTES
        request = urllib.request.Request(  # noqa: S310 - the agent's own address
            self._address,
            msgspec.json.encode(wanted),
            {"Content-Type": "application/json"},
            method="PUT",
        )
        try:
            with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:  # noqa: S310
                told = msgspec.json.decode(answer.read())
        except (OSError, ValueError, msgspec.DecodeError) as problem:
            _log.warning("the task is not protected from scaling in: %s", problem)
            return False
        if "failure" in told or "error" in told:
            _log.warning("the task is not protected from scaling in: %s", told)
            return False
        return True
