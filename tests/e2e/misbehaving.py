"""Python handlers that do what no handler should, for a stack that is given this module."""

import sys
import time
from typing import Any

from lamplighter.adapters.targets.python.handlers import handler
from lamplighter.ports.target import Context


@handler("bad.exits")
def exits(_payload: Any, _context: Context) -> None:
    sys.exit(3)


@handler("bad.raises")
def raises(_payload: Any, _context: Context) -> None:
    raise BaseException("not even an Exception")  # noqa: TRY002


@handler("bad.recurses")
def recurses(payload: Any, context: Context) -> None:
    recurses(payload, context)


@handler("bad.hangs")
def hangs(_payload: Any, _context: Context) -> None:
    """In C, where no exception reaches it."""
    time.sleep(600)


@handler("bad.answers")
def answers(_payload: Any, _context: Context) -> object:
    """Something that no JSON can hold."""
    return {1: object(), "nan": float("nan"), "\ud800": "\0"}
