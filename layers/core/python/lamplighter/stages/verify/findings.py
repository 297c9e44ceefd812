"""What a rule says of each thing that it looked at."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TypeAlias
from uuid import UUID

import msgspec

from lamplighter.domain.run import Run


class Finding(msgspec.Struct, frozen=True):
    """A promise that was not kept: by which run, if it was one, and in one sentence how."""

    rule: str
    job_id: UUID
    run_id: UUID | None
    text: str


# One for everything that a rule looked at: None where all is well, else one sentence about it.
Verdicts: TypeAlias = Iterator["Said | None"]


class Said(msgspec.Struct, frozen=True):
    """A sentence about a run, or about its job: whoever calls the rule adds the rule's name."""

    text: str
    job_id: UUID
    run_id: UUID | None = None


def of_run(run: Run, text: str) -> Said:
    return Said(text, run.job_id, run.run_id)


def at(instant: datetime | None) -> str:
    """RFC 3339 in UTC, to the millisecond."""
    if instant is None:
        return "never"
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
