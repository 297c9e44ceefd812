"""Lamplighter itself, driven as the peers are, through its public API."""

import json
from datetime import UTC, datetime, timedelta

from benchmarks.client import for_seconds, request
from benchmarks.due import MARK, Pace, Wave, encoded
from benchmarks.figures import percentile
from benchmarks.peers.figures import Figures, Herd, highest, worth_trying
from benchmarks.peers.protocol import BATCH, CONNECTIONS
from benchmarks.running import Running, fresh
from benchmarks.sizes import number, numbers

PATIENCE_SECONDS = 180.0


def measured(bus: str) -> Figures:
    with fresh(bus) as stack:
        pace = Pace(stack)
        herds = {jobs: _herd(stack, pace, jobs) for jobs in sorted(numbers("BENCH_PEER_HERD"))}
        rates = worth_trying(numbers("BENCH_PEER_RATES"), max(h.per_second for h in herds.values()))
        return Figures(
            title=f"Lamplighter over {bus}",
            note="history kept; over HTTP",
            herds=herds,
            steady=highest(rates, lambda rate: _p99(stack, pace, rate)),
            one_by_one=_one_by_one(stack),
            in_batches=_in_batches(stack),
        )


def _herd(stack: Running, pace: Pace, jobs: int) -> Herd:
    wave = Wave(stack, [pace.instant(jobs)] * jobs)
    took = (wave.completed(PATIENCE_SECONDS) - wave.first).total_seconds()
    return Herd(jobs, jobs / took, _late(wave))


def _p99(stack: Running, pace: Pace, rate: int) -> float:
    seconds = number("BENCH_PEER_SECONDS")
    first = pace.instant(rate * seconds)
    times = [first + timedelta(seconds=n / rate) for n in range(rate * seconds)]
    wave = Wave(stack, times)
    wave.completed(seconds + PATIENCE_SECONDS)
    return _late(wave)


def _late(wave: Wave) -> float:
    return percentile([start.lateness for start in wave.starts()], 0.99)


def _one_by_one(stack: Running) -> float:
    job = {"name": "one", "schedule_time": _tomorrow().isoformat(), "target": MARK}
    one = request(stack.host, "/jobs", json.dumps(job).encode())
    return for_seconds(stack.host, one, CONNECTIONS, number("BENCH_SUBMIT_SECONDS")).per_second


def _in_batches(stack: Running) -> float:
    many = request(stack.host, "/jobs/batch", encoded([_tomorrow()] * BATCH, {}))
    return BATCH * for_seconds(stack.host, many, 1, number("BENCH_SUBMIT_SECONDS")).per_second


def _tomorrow() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
