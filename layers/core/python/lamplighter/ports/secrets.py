"""Secrets of the deployment itself: given as they are, or as somebody who knows where they lie."""

from collections.abc import Callable

Held = str | Callable[[], str]


def told(held: Held) -> str:
    """The value itself, now. SecretUnavailable where it cannot be had."""
    return held() if callable(held) else held
