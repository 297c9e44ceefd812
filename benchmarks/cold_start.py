"""What a cold start imports, from the zips: each function alone, in fresh processes.

At first the handler, as Lambda does before it asks for an event; then the drivers too, which are
imported by the first call. What Lambda adds (a machine, the zips, 60 ms for its own loop) is not
in it, nor are connections. The best of several processes, and their processor time: others use this
machine as well, and where nobody does, it is the time that one waits.
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
began, busy = time.perf_counter(), time.process_time()
import {modules}
print(1000 * (time.process_time() - busy), 1000 * (time.perf_counter() - began))
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


def _row(name: str, disk: Disk, modules: str, goal: str = "") -> Row:
    times = [_import_ms(disk, modules) for _ in range(PROCESSES)]
    busy, waited = (min(each) for each in zip(*times, strict=True))
    told = [goal, f"{waited:.0f} by the clock", f"load {os.getloadavg()[0]:.1f}"]
    return {"name": name, "unit": "ms", "value": busy, "note": ", ".join(filter(None, told))}


def _import_ms(disk: Disk, modules: str) -> tuple[float, float]:
    """Of the processor, and by the clock."""
    done = subprocess.run(
        [*disk.python(), "-c", _TIMED.format(modules=modules)],
        env=disk.environment(),
        cwd=disk.task,
        capture_output=True,
        text=True,
        check=True,
    )
    busy, waited = map(float, done.stdout.split())
    return busy, waited
