"""Functions that a deployment allows by their module."""

from collections.abc import Callable
from functools import partial, wraps
from subprocess import check_output
from typing import Any

from lamplighter.ports.target import Context

NUMBER = 3


def double(payload: Any, _context: Context) -> Any:
    return payload * 2


def _helper(payload: Any, _context: Context) -> Any:
    return payload


class Report:
    def __init__(self, payload: Any, _context: Context) -> None:
        self.payload = payload


def _logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def logged(*given: Any) -> Any:
        return function(*given)

    return logged


@_logged
def triple(payload: Any, _context: Context) -> Any:
    return payload * 3


imported = check_output
bound = partial(double)


async def later(payload: Any, _context: Context) -> Any:
    return payload
