"""How much of everything: for all of it, for a selection, or as the environment says.

A benchmark asks when it runs. `BENCH_HERD=2000 python -m benchmarks herd` is a small one.
"""

import os
from typing import Final, NamedTuple

QUICK: Final = "BENCH_QUICK"


class Size(NamedTuple):
    full: str
    quick: str
    meaning: str


SIZES: Final = {
    "BENCH_BUSES": Size("streams kafka", "streams kafka", "buses to measure on"),
    "BENCH_WARM_UP": Size("20000", "20000", "jobs that run before, unmeasured"),
    "BENCH_HERD": Size("60000 100000 300000", "60000", "jobs of a herd"),
    "BENCH_RATES": Size(
        "500 1000 2000 3000 4000 5000 6000 7500 9000 10000", "5000", "steady jobs a second"
    ),
    "BENCH_STEADY_SECONDS": Size("60", "15", "how long each rate lasts"),
    "BENCH_IMMEDIATE": Size("300", "100", "idle: immediate jobs, one at a time"),
    "BENCH_CANCELLED": Size("100", "30", "idle: running jobs that are cancelled, one at a time"),
    "BENCH_AT_REST": Size("1000 100000 1000000", "1000", "idle: scheduled jobs at rest"),
    "BENCH_REST_SECONDS": Size("30", "20", "idle: how long rest is watched"),
    "BENCH_IN_HORIZON": Size("1000000", "0", "idle: jobs in the horizon, for the memory; 0: none"),
    "BENCH_CONNECTIONS": Size("1 2 4 8 16 32 64", "1 32", "submit: connections"),
    "BENCH_SUBMIT_SECONDS": Size("10", "5", "submit: how long each is measured"),
    "BENCH_BATCHES": Size("100 1000 10000", "1000", "submit: jobs of a batch"),
    "BENCH_CRONS": Size("1000 10000", "1000", "cron jobs at second 0"),
    "BENCH_SPREAD_CRONS": Size("100000", "0", "cron jobs spread over the minute; 0: none"),
    "BENCH_MINUTES": Size("3", "1", "cron: minutes that are watched"),
    "BENCH_RESTING": Size("10000 1000000 10000000", "10000 100000", "scale: jobs at rest"),
    "BENCH_FINISHED": Size("10000000", "100000", "scale: finished runs"),
    "BENCH_ROWS": Size("10000000", "100000", "ledger: rows at rest in the tables called full"),
    "BENCH_DUE": Size("20000", "5000", "scale, fair: jobs of the herd beside them"),
    "BENCH_CHAIN": Size("10000", "200", "dag: nodes of a chain"),
    "BENCH_FAN": Size("10000", "1000", "dag: nodes of a fan"),
    "BENCH_FLOOD": Size("1000000", "50000", "fair: jobs of the tenant that floods"),
    "BENCH_HELD": Size("100000", "10000", "fair: jobs held by a limit"),
    "BENCH_BACKFILL": Size("10000", "1000", "fair: fires to be made up"),
    "BENCH_LIVE_SECONDS": Size("60", "20", "fair: how long the other is watched"),
    "BENCH_FAILOVERS": Size("5", "1", "failover: leaders to kill"),
    "BENCH_FAILOVER_RATE": Size("1000", "1000", "failover: jobs a second meanwhile"),
    "BENCH_PEERS": Size(
        "celery procrastinate pgqueuer apscheduler river bullmq",
        "celery procrastinate pgqueuer apscheduler river bullmq",
        "peers to measure",
    ),
    "BENCH_PEER_HERD": Size("30000 100000", "20000", "peers: jobs of a herd"),
    "BENCH_PEER_RATES": Size(
        "200 400 700 1000 1500 2000 3000 4500 6000 7500 9000 12000",
        "200 400 700 1000 2000 4000 6000 9000",
        "peers: steady jobs a second",
    ),
    "BENCH_PEER_SECONDS": Size("20", "8", "peers: how long each rate lasts"),
}


def numbers(name: str) -> list[int]:
    return [int(part.replace("_", "")) for part in words(name)]


def number(name: str) -> int:
    (one,) = numbers(name)
    return one


def words(name: str) -> list[str]:
    usual = SIZES[name].quick if os.environ.get(QUICK) else SIZES[name].full
    return os.environ.get(name, usual).replace(",", " ").split()
