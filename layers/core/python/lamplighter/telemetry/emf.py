"""CloudWatch's embedded metric format: JSON lines on standard output, which it makes metrics of.

One line has all metrics of one set of dimensions, each as an array: a thousand values are ten
lines. Arrays are what the format's specification has; the histograms that some exporters send in
their place are nowhere documented.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from lamplighter.telemetry.metrics import CELL, NAMESPACE, Kind, Metric

# What CloudWatch takes per metric and line.
MOST_VALUES: Final = 100
# What a process that lives long keeps at most before it tells.
_KEPT_SECONDS: Final = 10.0

Write = Callable[[str], object]
_Values = dict[Metric, list[float]]
_Place = tuple[str, ...]  # a value for each of a metric's dimensions


class Telemetry:
    """`write` gets whole lines. Without it nothing is kept."""

    def __init__(
        self,
        write: Write | None,
        cell: str = "lamplighter",
        *,
        now: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._write = write
        self._cell = cell
        self._now, self._steady = now, steady
        self._lock = threading.Lock()
        self._kept: dict[tuple[_Place, tuple[tuple[str, ...], ...]], _Values] = {}
        self._since = steady()

    @property
    def is_on(self) -> bool:
        """Whether it is worth while to find out what could be told."""
        return self._write is not None

    def count(self, metric: Metric, value: float = 1, *place: str) -> None:
        self.add(metric, [value], *place)

    def add(self, metric: Metric, values: Sequence[float], *place: str) -> None:
        """Keep values until the invocation ends. `place` are those of the metric's dimensions.

        A gauge without a place is that of the whole cell.
        """
        if self._write is None or not values:
            return
        sets = metric.dimension_sets if place else [[CELL]]
        key = place, tuple(map(tuple, sets))
        with self._lock:
            kept = self._kept.setdefault(key, {}).setdefault(metric, [])
            if metric.kind is not Kind.SUM:
                kept.extend(values)
            elif kept:
                kept[0] += sum(values)
            else:
                kept.append(sum(values))
        if self._steady() - self._since > _KEPT_SECONDS:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, {}
            self._since = self._steady()
        if self._write is None or not kept:
            return
        at = int(self._now() * 1000)
        for (place, sets), metrics in kept.items():
            named = {CELL: self._cell, **dict(zip(sets[0][1:], place, strict=True))}
            for part in _parts(metrics):
                self._write(_line(named, sets, part, at))


def to_stdout(line: str) -> None:
    """In one piece: other threads write there as well."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parts(metrics: _Values) -> Iterator[_Values]:
    longest = max(map(len, metrics.values()))
    for start in range(0, longest, MOST_VALUES):
        part = {each: values[start : start + MOST_VALUES] for each, values in metrics.items()}
        yield {each: values for each, values in part.items() if values}


def _line(named: dict[str, str], sets: Sequence[Sequence[str]], part: _Values, at: int) -> str:
    directive = {
        "Namespace": NAMESPACE,
        "Dimensions": sets,
        "Metrics": [{"Name": each.name, "Unit": each.unit} for each in part],
    }
    values: dict[str, Any] = {each.name: values for each, values in part.items()}
    document = {"_aws": {"Timestamp": at, "CloudWatchMetrics": [directive]}, **named, **values}
    return msgspec.json.encode(document).decode()
