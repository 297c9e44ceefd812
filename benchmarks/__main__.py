"""`python -m benchmarks [NAME …]`: run them, print a table, then JSON; pictures in build/bench."""

import argparse
import os
import sys
from pathlib import Path

from benchmarks import page
from benchmarks.registry import BENCHMARKS, selection
from benchmarks.report import RESULTS, Row, as_json, store, table
from benchmarks.sizes import QUICK


def main() -> int:
    options = _options()
    if options.quick:
        os.environ[QUICK] = "1"
    names = options.names or (selection() if options.quick else list(BENCHMARKS))
    failed = [name for name in names if not _run(name, keep=options.keep)]
    rows = [row for name in names if name not in failed for row in page.stored(name)]
    print(table(rows))
    print(as_json(rows))
    if options.json:
        options.json.write_text(as_json(rows) + "\n", encoding="utf-8")
    print(f"pictures and JSON are in {RESULTS}", file=sys.stderr)
    for name in failed:
        print(f"{name} was not measured; see above", file=sys.stderr)
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, and a selection")
    parser.add_argument("--keep", action="store_true", help="write the results into the docs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there as well")
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        there = ", ".join(BENCHMARKS)
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {there}")
    return options


def _run(name: str, *, keep: bool) -> bool:
    """Whether it could be measured: one that fails must not cost the hours of the others."""
    print(f"measuring {name} …", file=sys.stderr, flush=True)
    try:
        rows: list[Row] = BENCHMARKS[name].measure()
    except Exception as problem:  # noqa: BLE001 - said, and the next one goes on
        print(f"{name}: {problem}", file=sys.stderr, flush=True)
        return False
    store(name, rows)
    print(table(rows), file=sys.stderr, flush=True)
    if keep:
        page.keep(name)
    return True


if __name__ == "__main__":
    sys.exit(main())
