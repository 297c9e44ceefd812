"""Telemetry: counts for CloudWatch, as lines of its embedded metric format on standard output.

One line per set of dimensions and invocation. Ids are never dimensions: each would be a metric of
its own, for ever, at a price. Elsewhere than on Lambda nobody reads such lines; `/metrics` has it
all.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from lamplighter.ports.rollups import Rollup

NAMESPACE: Final = "Lamplighter"
# What CloudWatch takes per metric and line.
_MOST_VALUES: Final = 100

_Dimensions = tuple[tuple[str, str], ...]


class Telemetry:
    """`write` gets whole lines. Without it nothing is kept."""

    def __init__(
        self, write: Callable[[str], object] | None, now: Callable[[], float] = time.time
    ) -> None:
        self._write = write
        self._now = now
        self._lock = threading.Lock()
        self._kept: dict[_Dimensions, dict[str, tuple[str, list[float]]]] = {}

    def count(self, name: str, value: float = 1, unit: str = "Count", **dimensions: str) -> None:
        """Keep a value until the invocation ends. Many of one name become one line."""
        if self._write is None:
            return
        with self._lock:
            metrics = self._kept.setdefault(tuple(sorted(dimensions.items())), {})
            metrics.setdefault(name, (unit, []))[1].append(value)

    @contextmanager
    def invocation(self) -> Iterator[None]:
        """Around a handler: what was counted in it leaves with it, however it ends."""
        try:
            yield
        finally:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, {}
        if self._write is None:
            return
        for dimensions, metrics in kept.items():
            for part in _parts(metrics):
                self._write(_line(dict(dimensions), part, int(self._now() * 1000)))


def count_endings(telemetry: Telemetry, rollups: Sequence[Rollup]) -> None:
    """Executions, how they ended, how long they took, how late they began."""
    for line in rollups:
        where = {"pool": line.pool, "class": line.job_class.name}
        telemetry.count("Runs", line.runs, **where, status=line.state.name)
        telemetry.count("RunMilliseconds", line.duration_ms, "Milliseconds", **where)
        telemetry.count("MaxLateness", line.max_lateness_ms, "Milliseconds", **where)


def on_lambda(*, enabled: bool) -> Telemetry:
    """Lambda sends standard output to CloudWatch; elsewhere it would only be in the way."""
    return Telemetry(_print if enabled else None)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parts(
    metrics: dict[str, tuple[str, list[float]]],
) -> Iterator[dict[str, tuple[str, list[float]]]]:
    longest = max(len(values) for _, values in metrics.values())
    for start in range(0, longest, _MOST_VALUES):
        part = {
            name: (unit, values[start : start + _MOST_VALUES])
            for name, (unit, values) in metrics.items()
        }
        yield {name: each for name, each in part.items() if each[1]}


def _line(dimensions: dict[str, str], metrics: dict[str, tuple[str, list[float]]], at: int) -> str:
    described = [{"Name": name, "Unit": unit} for name, (unit, _) in metrics.items()]
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": [sorted(dimensions)],
        "Metrics": described,
    }
    values: dict[str, Any] = {name: each for name, (_, each) in metrics.items()}
    document = {"_aws": {"Timestamp": at, "CloudWatchMetrics": [directive]}}
    return json.dumps({**document, **dimensions, **values})
