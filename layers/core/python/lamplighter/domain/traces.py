"""Traces without luggage: the ids of a run's spans follow from the run's own id.

A run's id is its trace's id, a job's id that of its submission; the spans within are named by what
they are and by the fence. So every function knows where its part belongs, though nobody has told
it, and whoever has a run's id has its trace.
"""

import re
from hashlib import blake2b
from typing import Final
from uuid import UUID

import msgspec

RUN: Final = "run"
JOB: Final = "job"
PUBLISH: Final = "publish"
CLAIM: Final = "claim"
ATTEMPT: Final = "attempt"
RECORD: Final = "record"
FREE: Final = "free"

# W3C's header: version, trace, span, flags. Later versions may append to it.
_TRACEPARENT: Final = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)


class SpanRef(msgspec.Struct, frozen=True):
    """A span, wherever it is: in this trace, in a client's."""

    trace_id: str  # 32 hexadecimal digits
    span_id: str  # 16


def span_of(owner: UUID, name: str, fence: int = 0) -> SpanRef:
    """The span of this name in the trace of a run or a job, whoever asks."""
    named = f"{name}\0{fence}".encode()
    return SpanRef(owner.hex, blake2b(owner.bytes + named, digest_size=8).hexdigest())


def traceparent(run_id: UUID, fence: int) -> str:
    """What a target is told, so that its own spans become children of this attempt."""
    attempt = span_of(run_id, ATTEMPT, fence)
    return f"00-{attempt.trace_id}-{attempt.span_id}-01"


def read_traceparent(header: str | None) -> SpanRef | None:
    """The caller's span; None where there is none, or nothing that the standard would know."""
    found = _TRACEPARENT.fullmatch((header or "").strip().lower())
    return SpanRef(found[1], found[2]) if found else None
