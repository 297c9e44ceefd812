"""Which benchmarks there are. Each is imported when it is run: they need very different things."""

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

from benchmarks.report import Row


class Benchmark(NamedTuple):
    """`place` is `module:function`; `quick`: it belongs to the selection of `make bench`."""

    place: str
    measures: str
    quick: bool = False

    def measure(self) -> list[Row]:
        module, _, name = self.place.partition(":")
        found: Callable[[], list[Row]] = getattr(import_module(f"benchmarks.{module}"), name)
        return found()


BENCHMARKS: Final = {
    "herd": Benchmark("herd:measure", "many jobs due at one instant", quick=True),
    "steady": Benchmark("steady:measure", "jobs due one after the other", quick=True),
    "submit": Benchmark("submit:measure", "submission over HTTP", quick=True),
    "cron": Benchmark("cron:measure", "cron jobs on the minute"),
    "failover": Benchmark("failover:measure", "the leader is killed", quick=True),
    "idle": Benchmark("idle:measure", "a stack with little to do, over streams", quick=True),
    "idle_kafka": Benchmark("idle:measure_kafka", "the same over Kafka"),
    "dag": Benchmark("dag:measure", "graphs of 10,000 jobs"),
    "fair": Benchmark("fair:measure", "a flood, a limit, a backfill, and the others"),
    "scale": Benchmark("scale:measure", "the cost of a job beside millions at rest"),
    "limit": Benchmark("limit:measure", "the bare data path; herd has it, too"),
    "peers": Benchmark("peers.compare:measure", "what a user would take instead, beside ours"),
    "next_fire": Benchmark("next_fire:measure", "the next fire of a schedule", quick=True),
    "run_stage": Benchmark("run_stage:measure", "to run a run"),
    "queue": Benchmark("queue:measure", "the queue beside a bare sorted set"),
    "bus": Benchmark("bus:measure", "both buses"),
    "ledger": Benchmark("ledger:measure", "the ledger beside bare tables", quick=True),
    "cold_start": Benchmark("cold_start:measure", "what a cold start imports"),
}


def selection() -> list[str]:
    return [name for name, each in BENCHMARKS.items() if each.quick]
