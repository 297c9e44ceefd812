"""What a cold start imports, from the zips: each function alone, in fresh processes.

At first the handler, as Lambda does before it asks for an event; then the drivers too, which are
imported by the first call. What Lambda adds (a machine, the zips, 60 ms for its own loop) is not
in it, nor are connections. The best of several processes: others use this machine as well.
"""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.report import Row
from infra.aws import assets
from infra.aws.disk import Disk, Machine

GOAL_MS: Final = 350
PROCESSES: Final = 7
_POSTGRES: Final = "lamplighter.adapters.postgres.listing"
_VALKEY: Final = "lamplighter.adapters.valkey.queue, lamplighter.adapters.valkey.cache"
_KAFKA: Final = "lamplighter.adapters.kafka.bus"
_AWS: Final = "lamplighter.adapters.targets.aws.clients"
_STORES: Final = f"{_POSTGRES}, {_VALKEY}"
# What the first call of each imports besides, over Kafka.
DRIVERS: Final = {
    "executor": f"{_STORES}, {_KAFKA}, {_AWS}",
    "migrate": f"{_POSTGRES}, {_KAFKA}",
    "query": _STORES,
    "recorder": f"{_STORES}, {_KAFKA}",
    "resolver": f"{_STORES}, {_KAFKA}",
    "submit": f"{_STORES}, {_KAFKA}",
    "watcher": f"{_STORES}, {_KAFKA}",
}
_TIMED: Final = """
import time
began = time.perf_counter()
import {modules}
print(1000 * (time.perf_counter() - began))
"""


def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as folder:
        machine = Machine(Path(folder))
        rows: list[Row] = []
        for name in assets.function_names():
            handler, disk = f"functions.{name}.handler", machine.disk(name)
            rows.append(_row(f"{name}: import", disk, handler, f"goal {GOAL_MS} at most"))
            if drivers := DRIVERS.get(name):
                rows.append(_row(f"{name}: with drivers", disk, f"{handler}, {drivers}"))
    return rows


def _row(name: str, disk: Disk, modules: str, note: str = "") -> Row:
    best = min(_import_ms(disk, modules) for _ in range(PROCESSES))
    note = ", ".join(filter(None, [note, f"load {os.getloadavg()[0]:.1f}"]))
    return {"name": name, "unit": "ms", "value": best, "note": note}


def _import_ms(disk: Disk, modules: str) -> float:
    program = _TIMED.format(modules=modules)
    done = subprocess.run(
        [*disk.python(), "-c", program],
        env=disk.environment(),
        cwd=disk.task,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
