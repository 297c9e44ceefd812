"""docs/states.md and its picture say what the table says, and leave no state unwatched."""

import re

import pytest

from docs import draw_states
from lamplighter.domain.policy import TriggerRule
from lamplighter.domain.retry import (
    HELD_BOUND,
    LONGEST_CAP_SECONDS,
    MAX_LOSSES,
    SHORTEST_DELAY_SECONDS,
)
from lamplighter.domain.states import EDGES, RunState
from lamplighter.domain.trigger import BLOCKED_BOUND

PAGE = draw_states.PAGE.read_text(encoding="utf-8")
PAIRS = [(old.name, new.name) for old in RunState for new in sorted(EDGES[old])]
REDRAW = "the table of states has changed: run python docs/draw_states.py"


def rows_under(heading: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_committed_picture_is_the_one_drawn_from_the_table() -> None:
    assert draw_states.PICTURE.read_text(encoding="utf-8") == draw_states.picture(), REDRAW


def test_the_committed_matrix_is_the_one_drawn_from_the_table() -> None:
    assert draw_states.matrix() in PAGE, REDRAW
    assert draw_states.page(PAGE) == PAGE


def test_the_picture_has_each_state_and_each_edge_once() -> None:
    svg = draw_states.picture()
    assert sorted(re.findall(r">([A-Z_]+)</text>", svg)) == sorted(s.name for s in RunState)
    drawn = re.findall(r'id="([A-Z_]+)-([A-Z_]+)"', svg)
    assert sorted(drawn) == sorted(PAIRS)


def test_the_page_explains_every_edge_and_no_other() -> None:
    rows = rows_under("Every edge")
    assert sorted((old, new) for old, new, _, _ in rows) == sorted(PAIRS)
    assert all(by and when for _, _, by, when in rows)


def test_every_state_that_is_not_final_is_watched_by_somebody() -> None:
    rows = rows_under("Who moves it on")
    assert sorted(row[0] for row in rows) == sorted(s.name for s in RunState if not s.is_final)
    assert all(all(row) for row in rows)
    assert all(re.match(r"watcher, (load|sweep)", noticed) for _, _, noticed, _ in rows)


@pytest.mark.parametrize(
    ("state", "bound"),
    [
        ("BLOCKED", f"{BLOCKED_BOUND.total_seconds() / 3600:g} h"),
        ("HELD", f"{HELD_BOUND.days} days"),
    ],
)
def test_the_page_gives_the_bounds_that_the_code_has(state: str, bound: str) -> None:
    [latest] = [row[3] for row in rows_under("Who moves it on") if row[0] == state]
    assert latest.startswith(bound)


def test_the_page_gives_the_limits_of_retries_that_the_code_has() -> None:
    section = PAGE.split("\n## Retries\n")[1]
    assert MAX_LOSSES == 5
    assert "the fifth worker was lost" in section
    assert f"`base_seconds` is at least {SHORTEST_DELAY_SECONDS}" in section
    assert f"`cap_seconds` at most {LONGEST_CAP_SECONDS / 86400:g} days" in section


def test_the_page_explains_every_trigger_rule() -> None:
    rules = [row[0].split("`")[1] for row in rows_under("Trigger rules")]
    assert sorted(rules) == sorted(rule.value for rule in TriggerRule)
