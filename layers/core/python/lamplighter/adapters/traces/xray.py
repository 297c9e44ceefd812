"""Spans to X-Ray, by its API: fifty segment documents a call.

Not by the daemon that Lambda keeps beside a function: it is there for sampled requests only, and an
invocation by a Kafka mapping never is one.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

import msgspec

from lamplighter.domain.errors import LamplighterError
from lamplighter.ports.traces import Span

AT_ONCE: Final = 50
_PATIENCE_SECONDS: Final = 5
_PREFIX: Final = "lamplighter"


class SpansRefused(LamplighterError):
    """X-Ray did not take some of the segments, and says why."""


class Clients(Protocol):
    def get(self, service: str, *, read_seconds: float, repeat: bool) -> Any: ...


class XRaySpans:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients

    def put(self, spans: Sequence[Span]) -> None:
        """Now, and waits for it: give it to a thread."""
        # Whoever sends them can do without them: one try, and not a long one.
        client = self._clients.get("xray", read_seconds=_PATIENCE_SECONDS, repeat=False)
        for start in range(0, len(spans), AT_ONCE):
            documents = [as_segment(span) for span in spans[start : start + AT_ONCE]]
            answer = client.put_trace_segments(TraceSegmentDocuments=documents)
            if refused := answer.get("UnprocessedTraceSegments"):
                first = refused[0]
                why = f"{first.get('ErrorCode')}: {first.get('Message')}"
                raise SpansRefused(f"{len(refused)} of {len(documents)} segments, {why}")


def as_segment(span: Span) -> str:
    """X-Ray writes a trace's id in three parts; a W3C id is one as it stands."""
    document: dict[str, Any] = {
        "name": f"{_PREFIX}.{span.name}",
        "id": span.ref.span_id,
        "trace_id": trace_id(span.ref.trace_id),
        "start_time": span.start.timestamp(),
        "end_time": span.end.timestamp(),
        "annotations": dict(span.attributes),
    }
    if span.parent_id:
        document["parent_id"] = span.parent_id
    if span.links:
        document["links"] = [
            {"trace_id": trace_id(link.trace_id), "id": link.span_id} for link in span.links
        ]
    if span.failed:
        document["fault"] = True
    return msgspec.json.encode(document).decode()


def trace_id(w3c: str) -> str:
    return f"1-{w3c[:8]}-{w3c[8:]}"
