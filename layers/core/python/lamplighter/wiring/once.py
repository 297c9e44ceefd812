"""Built once per process, when first asked for; and what must leave before it is frozen."""

import threading
from collections.abc import Callable
from functools import cache as remember
from functools import wraps
from typing import Final, TypeVar

T = TypeVar("T")

_building: Final = threading.RLock()
_kept: Final[list[Callable[[], None]]] = []
# What has to leave the process before it may be frozen.
_at_the_end: Final[list[Callable[[], object]]] = []


def forget() -> None:
    """Build everything anew when next asked for: for tests, which have many settings."""
    for clear in _kept:
        clear()
    _at_the_end.clear()


def once(build: Callable[[], T]) -> Callable[[], T]:
    """Built when first asked for, by whichever thread asks first; a failure is tried again."""
    built = remember(build)
    _kept.append(built.cache_clear)

    @wraps(build)
    def get() -> T:
        with _building:
            return built()

    return get


def at_the_end(leave: Callable[[], object]) -> None:
    """Called before the process may be frozen, however its call ended."""
    _at_the_end.append(leave)


def flush() -> None:
    for leave in _at_the_end:
        leave()
