"""A handler that tells when it was called, for the stack that `idle` measures."""

import time
from typing import Any

from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.ports.target import Context


@handler("bench.note", quick=True)
def note(_payload: Any, _context: Context) -> float:
    return time.time()
