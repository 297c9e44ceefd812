"""Handlers that tell when they were called, for the stacks that are measured.

`bench.note` answers with the time. `bench.mark` writes it down beside the run's id, for many runs:
24 bytes into a file that is mapped into memory, one per process. That takes well under a
microsecond, no call of the system, and what was written survives a process that is killed.
"""

import itertools
import mmap
import os
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.marks import FOLDER, MARK, MOST
from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.ports.target import Context

Book = tuple[mmap.mmap, "itertools.count[int]"]
_books: list[Book] = []
_opening = threading.Lock()


@handler("bench.note", quick=True)
def note(_payload: Any, _context: Context) -> float:
    return time.time()


@handler("bench.mark", quick=True)
def mark(_payload: Any, context: Context) -> None:
    book, places = _books[0] if _books else _opened()
    MARK.pack_into(book, MARK.size * next(places), context.run.run_id.bytes, time.time())


def _opened() -> Book:
    """Sparse: only what is written takes room. At the first call, and not by every process."""
    with _opening:  # two threads may come first at once; a second book would be one on top
        if not _books:
            path = Path(os.environ[FOLDER]) / f"{os.getpid()}.marks"
            with path.open("w+b") as file:
                file.truncate(MARK.size * MOST)
                _books.append((mmap.mmap(file.fileno(), 0), itertools.count()))
    return _books[0]
