"""Spans: what happened from when to when, and of what it was a part."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from lamplighter.domain.traces import SpanRef


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """`links` lead to other traces: what this one came from, or led to."""

    name: str
    ref: SpanRef
    parent_id: str | None = None
    start: datetime
    end: datetime
    attributes: Mapping[str, str | int] = {}
    links: tuple[SpanRef, ...] = ()
    failed: bool = False


class Spans(Protocol):
    def put(self, spans: Sequence[Span]) -> object:
        """Keep them; or not: whoever tells of what it does, does not wait for that."""
