"""Handlers are thin: an event in, a stage called, an answer out."""

from pathlib import Path

import pytest

FUNCTIONS = Path(__file__).parents[2] / "functions"
HANDLERS = sorted(FUNCTIONS.glob("*/handler.py"))
MOST_LINES = 60


def test_every_function_has_a_handler() -> None:
    folders = {each.parent for each in FUNCTIONS.glob("*/__init__.py")}
    assert folders == {each.parent for each in HANDLERS}
    assert folders


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda each: str(each.parent.name))
def test_a_handler_is_short(handler: Path) -> None:
    assert len(handler.read_text(encoding="utf-8").splitlines()) < MOST_LINES
