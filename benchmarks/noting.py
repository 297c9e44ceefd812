"""Handlers that tell when they were called, for the stacks that are measured.

`bench.note` answers with the time. `bench.mark` writes it down beside the run's id, for many runs:
24 bytes into a file that is mapped into memory, one per process. That takes well under a
microsecond, no call of the system, and what was written survives a process that is killed.
"""

import itertools
import mmap
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.marks import FOLDER, MARK, MOST
from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.ports.target import Context


@handler("bench.note", quick=True)
def note(_payload: Any, _context: Context) -> float:
    return time.time()


@handler("bench.mark", quick=True)
def mark(_payload: Any, context: Context) -> None:
    book, places = _book()
    MARK.pack_into(book, MARK.size * next(places), context.run.run_id.bytes, time.time())


@cache
def _book() -> tuple[mmap.mmap, "itertools.count[int]"]:
    """Sparse: only what is written takes room. Opened at the first call, not by every process."""
    path = Path(os.environ[FOLDER]) / f"{os.getpid()}.marks"
    with path.open("w+b") as file:
        file.truncate(MARK.size * MOST)
        return mmap.mmap(file.fileno(), 0), itertools.count()
