"""Jobs for given instants: submitted over HTTP in batches of 1,000, awaited in the ledger."""

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final

import psycopg

from benchmarks import marks
from benchmarks.running import Running, until
from benchmarks.sizes import number
from lamplighter.domain.ids import first_run_id

BATCH: Final = 1_000
MARK: Final = {"type": "python", "handler": "bench.mark"}
# After the last submission and before the first fire: what was written settles.
SETTLE_SECONDS: Final = 5.0
WARM_UP_SECONDS: Final = 5.0
_UNHURRIED: Final = 2.0
_DONE: Final = """
    SELECT count(*), count(*) FILTER (WHERE status = 10), max(modified_time)
    FROM job_runs WHERE run_id >= %s AND run_id < %s
"""


class Pace:
    """How long a batch takes here, found by warming the stack up.

    What has just started compiles, connects, imports and plans: a stack that has been up for a
    minute is what is measured.
    """

    def __init__(self, stack: Running) -> None:
        batches = -(-number("BENCH_WARM_UP") // BATCH)
        soon = datetime.now(UTC) + timedelta(seconds=WARM_UP_SECONDS)
        took = []
        for _ in range(batches):
            began = time.monotonic()
            submit(stack, [soon] * BATCH)
            took.append(time.monotonic() - began)
        self._batch_seconds = median(took)
        until(lambda: marks.count(stack.marks) >= batches * BATCH, "the warm-up has run", 120)

    def instant(self, jobs: int) -> datetime:
        """One that lies so far ahead that all of them are in the ledger long before."""
        batches = -(-jobs // BATCH)
        ahead = _UNHURRIED * self._batch_seconds * batches + SETTLE_SECONDS
        return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1 + ahead)


class Wave:
    """Jobs that become due, in the order of these times."""

    def __init__(self, stack: Running, times: Sequence[datetime], **fields: Any) -> None:
        self._stack = stack
        self._before = marks.count(stack.marks)
        self.first, self.last, self.jobs = times[0], times[-1], len(times)
        self.submitted_per_second = submit(stack, times, **fields)
        if datetime.now(UTC) >= self.first:
            raise RuntimeError("submitting took longer than expected: is the machine busy?")

    def starts(self) -> list[marks.Start]:
        """Those of its fires, in the order of time."""
        bounds = self.first.timestamp() - 0.001, self.last.timestamp() + 0.001
        return [each for each in self._stack.starts(bounds[0]) if each.fire <= bounds[1]]

    def completed(self, patience: float) -> datetime:
        """When the ledger had all of it as SUCCESS, by its own clock.

        It is asked only when all have begun: to count is work, too.
        """
        end = time.monotonic() + patience
        while marks.count(self._stack.marks) < self._before + self.jobs and time.monotonic() < end:
            time.sleep(0.1)
        bounds = [first_run_id(self.first), first_run_id(self.last + timedelta(milliseconds=1))]
        with psycopg.connect(self._stack.database_url, autocommit=True) as conn:
            while True:
                runs, ended, at = conn.execute(_DONE, bounds).fetchone() or (0, 0, None)
                if ended == self.jobs and isinstance(at, datetime):
                    return at
                if time.monotonic() > end:
                    raise RuntimeError(f"{ended:,} of {runs:,} ended; {self.jobs:,} were submitted")
                time.sleep(0.25)

    def verified(self) -> dict[str, Any]:
        return self._stack.verify(self.first, self.last + timedelta(milliseconds=1))


def submit(stack: Running, times: Sequence[datetime], **fields: Any) -> float:
    """A job for each of these times; how many a second. What they say is encoded beforehand."""
    parts = [times[start : start + BATCH] for start in range(0, len(times), BATCH)]
    bodies = [encoded(part, fields) for part in parts]
    began = time.monotonic()
    for body in bodies:
        stack.send("POST", "/jobs/batch", body)
    return len(times) / (time.monotonic() - began)


def encoded(times: Sequence[datetime], fields: dict[str, Any]) -> bytes:
    job = {"name": "due", "target": MARK, **fields}
    return json.dumps({"jobs": [{**job, "schedule_time": at.isoformat()} for at in times]}).encode()


def sleep_until(instant: datetime) -> None:
    time.sleep(max(0.0, (instant - datetime.now(UTC)).total_seconds()))
