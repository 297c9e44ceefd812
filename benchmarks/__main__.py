"""`python -m benchmarks [NAME …]`: run them, print a table, then JSON."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import bus, cold_start, idle, ledger, next_fire, queue, run_stage
from benchmarks.report import Row, as_json, table

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "next_fire": next_fire.measure,
    "run_stage": run_stage.measure,
    "queue": queue.measure,
    "bus": bus.measure,
    "ledger": ledger.measure,
    "cold_start": cold_start.measure,
    "idle": idle.measure,
    "idle_kafka": idle.measure_kafka,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there as well")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(
            f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}"
        )
    rows: list[Row] = []
    for name in options.names or BENCHMARKS:
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        rows += BENCHMARKS[name]()
    print(table(rows))
    print(as_json(rows))
    if options.json:
        options.json.write_text(as_json(rows) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
