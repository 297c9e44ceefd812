"""The ledger, a batch of a thousand at a time: submit, page, claim, finish.

Each operation takes turns with its bare floor on the same server, ten batches each, so that a noisy
moment hits both, and neither pays for having been put out of the processor's caches by the other.
Then the tables are filled, and everything is measured once more: the cost per row must not grow.

Before the first measure everything is done once, unmeasured, and a checkpoint follows: the first
work of a fresh server creates its log segments and fills its caches, and would pass for the cost of
a small table. "Near empty" is what a server costs that has been up for a minute.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from uuid import UUID, uuid4

import psycopg

from benchmarks.bare import BareLedger, fill_bare
from benchmarks.fill import fill_ledger
from benchmarks.report import Row
from benchmarks.sizes import number
from infra.local.postgres import Postgres
from lamplighter.adapters.postgres.ledger import PostgresLedger
from lamplighter.adapters.postgres.migrate import migrate
from lamplighter.domain.ids import first_run_id, new_job_id, run_id
from lamplighter.domain.job import Job
from lamplighter.domain.policy import ScheduleType
from lamplighter.domain.run import Outcome, Submission, Ticket, Verdict
from lamplighter.domain.schedule import Schedule

BATCH = 1_000
ROUNDS = 40
TURN = 10
UNTIL_DUE = timedelta(seconds=15)  # enough to submit and page everything before it is due
GOALS = {"submit": 25_000, "page": 40_000, "claim": 40_000, "finish": 50_000}
Step = Callable[[], object]
_BODY = {"type": "python", "handler": "builtin.noop"}


def measure() -> list[Row]:
    at_rest = number("BENCH_ROWS")
    with tempfile.TemporaryDirectory() as folder, Postgres(Path(folder) / "pg") as server:
        url = server.ensure_database("bench")
        migrate(url)
        ledger, bare = PostgresLedger(url), BareLedger(url)
        _warm_up(url, ledger, bare)
        small = _measure_all(ledger, bare)
        started = time.perf_counter()
        fill_ledger(url, at_rest)
        fill_bare(url, at_rest)
        filled_in = time.perf_counter() - started
        large = _measure_all(ledger, bare)
        ledger.close()
        bare.close()
    return _rows(small, large, at_rest, filled_in)


def _warm_up(url: str, ledger: PostgresLedger, bare: BareLedger) -> None:
    _measure_all(ledger, bare)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("CHECKPOINT")  # so that the log's segments are used again, as ever after


def _measure_all(ledger: PostgresLedger, bare: BareLedger) -> dict[str, tuple[float, float]]:
    """Rows per second of each operation: the ledger's, and the floor's."""
    fire = ledger.now().replace(microsecond=0) + UNTIL_DUE
    jobs = [_jobs(fire) for _ in range(ROUNDS)]
    times = {"submit": _submit(ledger, bare, jobs, fire)}
    times["page"] = _page(ledger, bare, fire)
    time.sleep(
        max(0.0, (fire - ledger.now()).total_seconds())
    )  # a claim before its time is refused
    tickets = [[run_id(job.job_id, fire, job.pool) for job in batch] for batch in jobs]
    times["claim"] = _claim(ledger, bare, tickets)
    times["finish"] = _finish(ledger, bare, tickets)
    return {name: (BATCH / mine, BATCH / floor) for name, (mine, floor) in times.items()}


def _jobs(fire: datetime) -> list[Job]:
    schedule, now = Schedule(ScheduleType.FUTURE, fire), datetime.now(UTC)
    return [
        Job(job_id=new_job_id(now), name=f"job {n}", schedule=schedule, target=_BODY, payload=n)
        for n in range(BATCH)
    ]


def _timed(call: Callable[..., object], *args: object) -> float:
    started = time.perf_counter()
    call(*args)
    return time.perf_counter() - started


def _in_turns(mine: Sequence[Step], floor: Sequence[Step]) -> tuple[float, float]:
    """The median of each, in seconds."""
    taken: tuple[list[float], list[float]] = ([], [])
    for first in range(0, ROUNDS, TURN):
        for steps, times in zip((mine, floor), taken, strict=True):
            times += [_timed(step) for step in steps[first : first + TURN]]
    return median(taken[0]), median(taken[1])


def _submit(
    ledger: PostgresLedger, bare: BareLedger, jobs: list[list[Job]], fire: datetime
) -> tuple[float, float]:
    rows = [
        [(job.job_id, run_id(job.job_id, fire, job.pool), _BODY) for job in batch] for batch in jobs
    ]
    return _in_turns(
        [partial(ledger.submit, [Submission(job, fire) for job in batch]) for batch in jobs],
        [partial(bare.submit, batch) for batch in rows],
    )


def _page(ledger: PostgresLedger, bare: BareLedger, fire: datetime) -> tuple[float, float]:
    at = {"ledger": first_run_id(fire), "bare": first_run_id(fire)}
    until = fire + timedelta(seconds=1)

    def mine() -> None:
        at["ledger"] = ledger.page(at["ledger"], until, BATCH)[-1].run_id

    def floor() -> None:
        at["bare"] = bare.page(at["bare"], BATCH)[-1]

    return _in_turns([mine] * ROUNDS, [floor] * ROUNDS)


def _claim(
    ledger: PostgresLedger, bare: BareLedger, batches: list[list[UUID]]
) -> tuple[float, float]:
    def mine(tickets: list[Ticket]) -> None:
        claimed = len(ledger.claim("bench", uuid4(), tickets).claimed)
        if claimed != BATCH:
            raise AssertionError(f"claimed {claimed} of {BATCH}")

    return _in_turns(
        [partial(mine, [Ticket(run, 0) for run in batch]) for batch in batches],
        [partial(bare.claim, batch) for batch in batches],
    )


def _finish(
    ledger: PostgresLedger, bare: BareLedger, batches: list[list[UUID]]
) -> tuple[float, float]:
    outcomes = [
        [Outcome(run_id=run, fence=1, verdict=Verdict.SUCCESS) for run in batch]
        for batch in batches
    ]
    return _in_turns(
        [partial(ledger.finish, batch) for batch in outcomes],
        [partial(bare.finish, batch) for batch in batches],
    )


def _rows(
    small: dict[str, tuple[float, float]],
    large: dict[str, tuple[float, float]],
    at_rest: int,
    filled_in: float,
) -> list[Row]:
    full = f"{at_rest:,} rows"
    rows = [_rate(name, "near empty", *small[name]) for name in GOALS]
    rows += [_rate(name, full, *large[name]) for name in GOALS]
    rows += [_growth(name, full, small[name], large[name]) for name in GOALS]
    return [*rows, {"name": "filling the tables", "unit": "s", "value": filled_in}]


def _rate(name: str, when: str, mine: float, floor: float) -> Row:
    return {
        "name": f"ledger {name}, {when}",
        "unit": "rows/s",
        "value": mine,
        "floor": floor,
        "ratio": mine / floor,
        "note": f"goal {GOALS[name]:,}",
    }


def _growth(name: str, full: str, small: tuple[float, float], large: tuple[float, float]) -> Row:
    return {
        "name": f"ledger {name}, cost per row, {full} / near empty",
        "unit": "times",
        "value": small[0] / large[0],
        "floor": small[1] / large[1],
        "note": "goal 1.30 at most; beside it, how the floor grew",
    }
