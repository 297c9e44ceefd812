"""Documents: how large, how deep, and what PostgreSQL cannot keep."""

import json
from typing import Any

import msgspec
import pytest

from lamplighter.contracts.http_checks import DEEPEST, document
from lamplighter.domain.errors import InvalidJob


def _document(text: str, most: int = 100_000) -> Any:
    return document("payload", msgspec.Raw(text.encode()), most)


@pytest.mark.parametrize(
    "value", [None, 1, "text", [], {}, {"a": [1, 2.5, None, True]}, "\\u0000", "[[[{{{" * 100]
)
def test_what_is_json_is_kept(value: Any) -> None:
    assert _document(json.dumps(value)) == value


def test_depth_counts_brackets_outside_of_strings() -> None:
    deep = "[" * DEEPEST + '"[[[[[[[[[[[[\\"]"' + "]" * DEEPEST
    assert _document(deep)
    with pytest.raises(InvalidJob, match="65 levels deep"):
        _document(f"[{deep}]")


def test_wide_is_not_deep() -> None:
    assert len(_document(json.dumps([{"a": [n]} for n in range(200)]))) == 200


@pytest.mark.parametrize("text", [r'"\u0000"', r'"a\\\u0000"', r'{"\u0000": 1}'])
def test_a_nul_is_refused(text: str) -> None:
    with pytest.raises(InvalidJob, match="PostgreSQL"):
        _document(text)


def test_size_is_in_bytes() -> None:
    assert _document('"äöü"', 8) == "äöü"
    with pytest.raises(InvalidJob, match="8 bytes; give 7 at most"):
        _document('"äöü"', 7)
