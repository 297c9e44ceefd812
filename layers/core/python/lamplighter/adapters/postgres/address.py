"""Where a database is. Whoever has no lasting password makes its address anew each time."""

from collections.abc import Callable

Address = str | Callable[[], str]


def resolved(address: Address) -> str:
    """What to connect to now."""
    return address() if callable(address) else address
