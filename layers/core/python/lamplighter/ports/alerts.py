"""Alerts: somebody is to be woken, because a job that matters has failed."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

import msgspec

from lamplighter.domain.errors import LamplighterError


class AlertFailed(LamplighterError):
    """It did not get through. Not retryable: the same alert would be refused again."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """A critical job's run has ended badly, for good."""

    tenant: str
    job_id: UUID
    job_name: str
    run_id: UUID
    status: str  # FAILED or TIMED_OUT
    error: str | None
    attempt: int | None
    fire_at: datetime
    ended_at: datetime

    @property
    def dedup_key(self) -> str:
        """The same for the same run, so that one that is told of twice wakes somebody once."""
        return f"{self.job_id}:{self.run_id}"

    @property
    def summary(self) -> str:
        how = "timed out" if self.status == "TIMED_OUT" else "failed"
        return f"{self.job_name} {how}" + (f": {self.error}" if self.error else "")


class Alerts(Protocol):
    """One way to reach somebody."""

    def send(self, alert: Alert) -> None:
        """Return when it got through, within seconds. AlertFailed where it did not."""
