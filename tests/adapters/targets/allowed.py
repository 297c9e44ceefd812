"""Functions that a deployment allows by their module."""

from typing import Any

from lamplighter.ports.target import Context

NUMBER = 3


def double(payload: Any, _context: Context) -> Any:
    return payload * 2


async def later(payload: Any, _context: Context) -> Any:
    return payload
