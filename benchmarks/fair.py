"""What others cost: a tenant that floods, jobs that a limit holds back, a backfill.

One job a second is submitted all the while, alone at first, and its handler tells how late it was.
The jobs that a limit holds are weighed by a herd beside them, in CPU and in throughput.
"""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from benchmarks import marks, picture
from benchmarks.due import BATCH, MARK, Pace, Wave, sleep_until
from benchmarks.figures import Points, Spread, lateness_over_time, spread, spread_rows
from benchmarks.flood import flood
from benchmarks.marks import Start
from benchmarks.report import Row, draw, not_measured
from benchmarks.running import Running, absent, fresh, until
from benchmarks.sizes import number, words

FLOODS = "flooding"
GOAL = "goal 2 times alone at most"
HOLD_SECONDS = 280  # a run of this pool may take 300
PATIENCE_SECONDS = 300.0
EBB_SECONDS = 1_800.0
BACKFILLED_AT_ONCE = 1_000  # fires of one job
_ENDED = "SELECT run_id FROM job_runs WHERE job_id = ANY(%s::uuid[]) AND status = 10"
_PARKED = "SELECT count(*) FROM job_runs WHERE status = 3"
_BACKFILLED = "SELECT count(*) FROM job_runs WHERE origin <> 'schedule' AND status = 10"


def measure() -> list[Row]:
    rows: list[Row] = []
    pictured: dict[str, Points] = {}
    for bus in words("BENCH_BUSES"):
        if reason := absent(bus):
            rows.append(not_measured(f"fair over {bus}", reason))
            continue
        with fresh(bus) as stack:
            pace = Pace(stack)
            alone = _live(stack, datetime.now(UTC))
            rows += spread_rows(f"one a second over {bus}, alone", spread(_late(alone)))
            flooded = _flooded(stack, pace)
            rows += _beside(f"one a second over {bus}, {FLOODS} neighbour", flooded, alone)
            filled, made_up = _beside_backfill(stack)
            rows += _beside(f"one a second over {bus}, beside a backfill", filled, alone)
            rows.append({"name": f"fires made up meanwhile over {bus}", "unit": "runs",
                         "value": made_up})  # fmt: skip
        pictured |= {f"{bus} alone": _line(alone), f"{bus} flooded": _line(flooded)}
        with fresh(bus) as stack:
            rows += _held_back(stack, bus)
    title = "Lateness of one job a second, each"
    draw("fair", picture.lines(title, pictured, "seconds", "ms"))
    return rows


def _live(stack: Running, since: datetime) -> list[Start]:
    """One immediate job a second, from then on: when each began."""
    mine: set[str] = set()
    body = json.dumps({"name": "live", "target": MARK}).encode()
    for n in range(number("BENCH_LIVE_SECONDS")):
        sleep_until(since + timedelta(seconds=n))
        mine.add(stack.send("POST", "/jobs", body)["job_id"])
    with psycopg.connect(stack.database_url, autocommit=True) as conn:

        def runs() -> set[bytes]:
            return {run_id.bytes for (run_id,) in conn.execute(_ENDED, [list(mine)]).fetchall()}

        until(lambda: len(runs()) >= len(mine), "every live job has run", PATIENCE_SECONDS, 1.0)
        ended = runs()
    return [start for start in stack.starts(since.timestamp()) if start.run_id in ended]


def _flooded(stack: Running, pace: Pace) -> list[Start]:
    """The flood is submitted before, and all of it is due when the live jobs begin."""
    count, before = number("BENCH_FLOOD"), marks.count(stack.marks)
    at = pace.instant(2 * count)
    flood(stack, FLOODS, count, at)
    if datetime.now(UTC) > at:
        raise RuntimeError("the flood took longer to submit than expected")
    sleep_until(at)
    live = _live(stack, at)
    everything = before + count + len(live)
    until(lambda: marks.count(stack.marks) >= everything, "the flood is over", EBB_SECONDS, 1.0)
    return live


def _beside_backfill(stack: Running) -> tuple[list[Start], int]:
    """Of minutes that have passed, a thousand for each of some jobs; how many were made up."""
    jobs = max(1, number("BENCH_BACKFILL") // BACKFILLED_AT_ONCE)
    fires = min(BACKFILLED_AT_ONCE, number("BENCH_BACKFILL"))
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    window = {"start": (end - timedelta(minutes=fires)).isoformat(), "end": end.isoformat()}
    began = datetime.now(UTC) + timedelta(seconds=1)
    for _ in range(jobs):
        body = {"name": "filled", "cron_expression": "* * * * *", "target": MARK}
        made = stack.ask("POST", "/jobs", body)
        stack.ask("POST", f"/jobs/{made['job_id']}/backfill", {**window, "max_runs": fires})
    live = _live(stack, max(began, datetime.now(UTC)))
    with psycopg.connect(stack.database_url, autocommit=True) as conn:
        (made_up,) = conn.execute(_BACKFILLED).fetchone() or (0,)
    return live, made_up


def _held_back(stack: Running, bus: str) -> list[Row]:
    """A herd alone, and the same beside jobs of a key whose only place is taken."""
    pace = Pace(stack)
    alone = _herd(stack, pace)
    held = number("BENCH_HELD")
    began = time.monotonic()
    _hold(stack, held)
    with psycopg.connect(stack.database_url, autocommit=True) as conn:

        def all_parked() -> bool:
            return (conn.execute(_PARKED).fetchone() or [0])[0] >= held - 1

        until(all_parked, "all of them are parked", PATIENCE_SECONDS, look=1.0)
    parked_in = time.monotonic() - began
    beside = _herd(stack, pace)
    name = f"herd of {number('BENCH_DUE'):,} over {bus} beside {held:,} held by a limit"
    return [
        {"name": name, "unit": "jobs/s", "value": beside[0], "floor": alone[0],
         "ratio": beside[0] / alone[0], "note": "beside it, alone"},
        {"name": f"{name}, CPU", "unit": "ms/1,000", "value": beside[1], "floor": alone[1],
         "ratio": beside[1] / alone[1], "note": "beside it, alone"},
        {"name": f"{held:,} jobs over {bus} submitted and parked", "unit": "s",
         "value": parked_in},
    ]  # fmt: skip


def _hold(stack: Running, held: int) -> None:
    job = {
        "name": "held", "concurrency_key": "one", "max_concurrency": 1, "priority": 5,
        "target": {"type": "python", "handler": "builtin.sleep"}, "payload": HOLD_SECONDS,
    }  # fmt: skip
    for start in range(0, held, BATCH):
        jobs = [job] * min(BATCH, held - start)
        stack.send("POST", "/jobs/batch", json.dumps({"jobs": jobs}).encode())


def _herd(stack: Running, pace: Pace) -> tuple[float, float]:
    """Jobs a second, and milliseconds of CPU per thousand."""
    jobs = number("BENCH_DUE")
    wave = Wave(stack, [pace.instant(jobs)] * jobs)
    sleep_until(wave.first - timedelta(seconds=0.2))
    before = sum(stack.cpu_seconds().values())
    took = (wave.completed(PATIENCE_SECONDS) - wave.first).total_seconds()
    return jobs / took, 1e6 * (sum(stack.cpu_seconds().values()) - before) / jobs


def _late(starts: list[Start]) -> list[float]:
    return [start.lateness for start in starts]


def _beside(name: str, starts: list[Start], alone: list[Start]) -> list[Row]:
    rows = spread_rows(name, spread(_late(starts)))
    usual: Spread = spread(_late(alone))
    for row, value in zip(rows, usual, strict=True):
        row |= {"floor": 1000 * value, "ratio": row["value"] / (1000 * value)}
    rows[1]["note"] = GOAL
    return rows


def _line(starts: list[Start]) -> Points:
    first = min(start.fire for start in starts)
    pairs: list[tuple[float, Any]] = [(start.fire - first, start.lateness) for start in starts]
    return lateness_over_time(pairs, 1.0, 1.0)
