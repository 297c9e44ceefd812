"""Spans as lines of JSON in a file, in OpenTelemetry's words: for people, and for tests."""

import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from lamplighter.domain.ids import EPOCH, MILLISECOND
from lamplighter.ports.traces import Span

LARGEST_BYTES: Final = 64 * 1024 * 1024


class FileSpans:
    """Many processes append to it, a batch of whole lines at a time."""

    def __init__(self, path: Path, largest: int = LARGEST_BYTES) -> None:
        self._path = path
        self._largest = largest
        self._lock = threading.Lock()

    def put(self, spans: Sequence[Span]) -> None:
        lines = b"".join(msgspec.json.encode(_document(span)) + b"\n" for span in spans)
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size > self._largest:
                self._path.replace(self._path.with_name(f"{self._path.name}.before"))
            with self._path.open("ab") as file:
                file.write(lines)


def _document(span: Span) -> dict[str, Any]:
    return {
        "traceId": span.ref.trace_id,
        "spanId": span.ref.span_id,
        "parentSpanId": span.parent_id or "",
        "name": span.name,
        "startTimeUnixNano": _nanoseconds(span.start),
        "endTimeUnixNano": _nanoseconds(span.end),
        "attributes": span.attributes,
        "links": [{"traceId": link.trace_id, "spanId": link.span_id} for link in span.links],
        "status": "ERROR" if span.failed else "OK",
    }


def _nanoseconds(instant: datetime) -> int:
    return (instant - EPOCH) // (MILLISECOND / 1000) * 1000
