"""Effort: what is worth trying and not worth waiting for. Nothing that matters hangs on it."""

import logging
import time
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger("lamplighter.effort")
REST_SECONDS: Final = 5.0


class Effort:
    """One kind of favour. After a failure it is not tried for a while: somebody waits for us."""

    def __init__(
        self,
        what: str,
        *,
        rest_seconds: float = REST_SECONDS,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._rest = rest_seconds
        self._steady = steady
        self._resting_until = float("-inf")

    @property
    def is_resting(self) -> bool:
        return self._steady() < self._resting_until

    def make(self, do: Callable[[], object]) -> bool:
        """Whether it was done. Never raises."""
        if self.is_resting:
            return False
        try:
            do()
        except Exception as problem:  # noqa: BLE001 - whatever it is, it must not cost the batch
            _log.warning("%s failed: %s: %s", self._what, type(problem).__name__, problem)
            self._resting_until = self._steady() + self._rest
            return False
        return True
