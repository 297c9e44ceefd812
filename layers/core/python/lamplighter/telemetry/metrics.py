"""The metrics: every name, its unit, what it is told apart by. docs/observability.md says the same.

Ids are never dimensions: each would be a metric of its own, for ever, at a price.
"""

from enum import Enum
from typing import Final

import msgspec

NAMESPACE: Final = "Lamplighter"
CELL: Final = "Cell"


class Kind(Enum):
    """How values of one line go together, and so what the cell's own series is made of."""

    SUM = "sum"  # added up; the cell's is the sum of its parts
    SAMPLES = "samples"  # each value counts, for percentiles; the cell's has all of them
    GAUGE = "gauge"  # a state: the cell's is told by itself, since a sum of samples is none


class Metric(msgspec.Struct, frozen=True):
    name: str
    unit: str
    kind: Kind
    by: tuple[str, ...] = ()  # dimensions beside the cell

    @property
    def dimension_sets(self) -> list[list[str]]:
        """For values that have all of `by`."""
        whole = [CELL, *self.by]
        return [whole] if self.kind is Kind.GAUGE or not self.by else [whole, [CELL]]


_POOL_AND_CLASS: Final = ("Pool", "Class")

START_LATENESS: Final = Metric("StartLateness", "Milliseconds", Kind.SAMPLES, _POOL_AND_CLASS)
EXECUTIONS: Final = Metric("Executions", "Count", Kind.SUM, _POOL_AND_CLASS)
FAILURES: Final = Metric("Failures", "Count", Kind.SUM, _POOL_AND_CLASS)
DURATION: Final = Metric("Duration", "Milliseconds", Kind.SAMPLES, _POOL_AND_CLASS)
QUEUE_DEPTH: Final = Metric("QueueDepth", "Count", Kind.GAUGE, _POOL_AND_CLASS)
BACKLOG: Final = Metric("Backlog", "Count", Kind.GAUGE, ("Pool",))
OLDEST_DUE: Final = Metric("OldestDueSeconds", "Seconds", Kind.GAUGE)
LEADER_CHANGES: Final = Metric("LeaderChanges", "Count", Kind.SUM)
DEAD_LETTERS: Final = Metric("DeadLetters", "Count", Kind.SUM)
REQUESTS_DEFERRED: Final = Metric("RequestsDeferred", "Count", Kind.SUM)
CANARY_LATENESS: Final = Metric("CanaryLatenessMs", "Milliseconds", Kind.SAMPLES)

METRICS: Final = (
    START_LATENESS,
    EXECUTIONS,
    FAILURES,
    DURATION,
    QUEUE_DEPTH,
    BACKLOG,
    OLDEST_DUE,
    LEADER_CHANGES,
    DEAD_LETTERS,
    REQUESTS_DEFERRED,
    CANARY_LATENESS,
)
