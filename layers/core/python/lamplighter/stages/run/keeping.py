"""What is kept of results, output and errors: bounded, valid, and without a secret.

PostgreSQL takes neither NUL characters nor half surrogate pairs, and one such value would make the
whole batch fail in which it is recorded.
"""

from typing import Any, Final

import msgspec

MASKED: Final = "•••"
# Shorter ones would be found in every other word.
SHORTEST_MASKED: Final = 4
# PostgreSQL and every reader after it recurse into what they are given.
DEEPEST: Final = 100
_NUL_IN_JSON: Final = b"\\u0000"
_UNKEEPABLE: Final = (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError)


def clean(text: str) -> str:
    """The text as any store takes it."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def shorten(text: str, limit: int) -> str:
    """Beginning and end, with a mark between them that says how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … {len(text) - 2 * half:,} characters left out … {text[-half:]}"


class Mask:
    """Hides the secrets that a run was given, wherever they turn up again."""

    def __init__(self) -> None:
        self._values: list[str] = []

    def add(self, value: str) -> None:
        if len(value) >= SHORTEST_MASKED and value not in self._values:
            # The longest first: one secret may contain another.
            self._values = sorted([*self._values, value], key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._values)

    def text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MASKED)
        return text

    def bytes(self, data: bytes) -> bytes:
        for value in self._values:
            data = data.replace(value.encode(), MASKED.encode())
        return data

    @property
    def longest(self) -> int:
        return max((len(value.encode()) for value in self._values), default=0)


def keep_result(value: Any, limit: int, mask: Mask | None = None) -> Any:
    """The result as JSON values, or a small document that says why it is not here."""
    if value is None:
        return None
    try:
        encoded = msgspec.json.encode(value)
    except _UNKEEPABLE:
        return {"not_json": type(value).__name__, "text": clean(shorten(_repr(value), limit // 4))}
    if len(encoded) > limit:
        head = clean(encoded[: limit // 4].decode(errors="replace"))
        return {"truncated": True, "bytes": len(encoded), "head": mask.text(head) if mask else head}
    try:
        kept = msgspec.json.decode(encoded)
        too_deep = encoded.count(b"[") + encoded.count(b"{") > DEEPEST and _is_deeper(kept, DEEPEST)
    except RecursionError:
        kept, too_deep = None, True
    if too_deep:
        return {"too_deep": True, "bytes": len(encoded)}
    if _NUL_IN_JSON in encoded or mask:
        return _rewritten(kept, mask or Mask())
    return kept


def _rewritten(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask.text(clean(value))
    if isinstance(value, list):
        return [_rewritten(each, mask) for each in value]
    if isinstance(value, dict):
        return {_rewritten(key, mask): _rewritten(each, mask) for key, each in value.items()}
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return False
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in value)


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as broken:  # noqa: BLE001 - a __repr__ may do anything
        return f"<no repr: {type(broken).__name__}>"
