"""Where the whole output of a run goes: an object store, or a folder where there is none."""

from typing import Final, Protocol
from uuid import UUID

import msgspec

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.ids import fire_of

LOG_SUFFIX: Final = ".log"


class LogsUnavailable(LamplighterError):
    """The store did not take or give a log. The run itself is not affected."""


class LogName(msgspec.Struct, frozen=True):
    """One log per claim: a worker that was thought dead never writes into its successor's."""

    tenant: str
    run_id: UUID
    fence: int

    @property
    def key(self) -> str:
        """Day first, so that a day's logs are retired together."""
        day = fire_of(self.run_id).strftime("%Y-%m-%d")
        return f"{day}/{_plain(self.tenant)}/{self.run_id}/{self.fence}{LOG_SUFFIX}"


class LogWriter(Protocol):
    """One log being written, by one thread at a time."""

    def write(self, data: bytes) -> None:
        """Append. LogsUnavailable where that fails; then the log is incomplete for good."""

    def close(self) -> str:
        """Finish, and say where it is: what `log_url` of the run will be."""

    def discard(self) -> None:
        """Leave nothing behind of a log that could not be finished. Never raises."""


class Logs(Protocol):
    def open(self, name: LogName) -> LogWriter: ...

    def url(self, name: LogName) -> str:
        """Where a log of this name is, or will be."""

    def read(self, url: str, offset: int = 0, limit: int = 1024 * 1024) -> bytes:
        """A piece of a log, empty at its end. LogsUnavailable if there is none, or not ours."""


def _plain(tenant: str) -> str:
    """No tenant's name leads out of its folder."""
    return "".join(c if c.isalnum() or c in "-_" else f"%{ord(c):02x}" for c in tenant)
