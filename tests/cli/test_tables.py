"""Tables: aligned, harmless, and in colour only where somebody sees it."""

from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from lamplighter.cli.tables import facts, plain, shorten, table


def _shown(show: Callable[[], None], *, colour: bool = False, **environment: str) -> str:
    command = click.Command("show", callback=show)
    return CliRunner(env={"NO_COLOR": None, **environment}).invoke(command, [], color=colour).output


def test_columns_line_up_also_under_wide_characters() -> None:
    rows = [("é", 1), ("日本", None), ("e\u0301", 22)]
    assert (
        _shown(lambda: table(("NAME", "N"), rows)) == "NAME  N\né     1\n日本  \ne\u0301     22\n"
    )


def test_facts_that_are_not_known_are_left_out() -> None:
    told = {"name": "a", "pool": None, "status": "SUCCESS"}
    assert _shown(lambda: facts(told)) == "name    a\nstatus  SUCCESS\n"


def test_a_status_has_a_colour_on_a_terminal_only_and_not_against_no_color() -> None:
    def show() -> None:
        table(("STATUS",), [("FAILED",)])

    assert "\x1b[31mFAILED" in _shown(show, colour=True)
    assert "\x1b" not in _shown(show)
    assert "\x1b" not in _shown(show, colour=True, NO_COLOR="1")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本", "plain é 日本"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202eback", "\\u202eback"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_would_move_the_cursor_is_spelt_out(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_long_text_is_cut_to_its_width() -> None:
    assert (shorten("abcdef", 6), shorten("abcdefg", 6)) == ("abcdef", "abcde…")
