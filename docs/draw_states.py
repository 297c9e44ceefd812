"""Draws docs/states.svg and the matrix in docs/states.md from the one table of run states.

Run it after a change of that table: `.venv/bin/python docs/draw_states.py`. A test compares.
"""  # noqa: INP001 - a script beside the pages that it writes

import re
from pathlib import Path

from lamplighter.domain.states import EDGES, RunState

PAGE = Path(__file__).with_name("states.md")
PICTURE = Path(__file__).with_name("states.svg")
MATRIX = re.compile(r"(<!-- matrix: drawn -->\n).*?(<!-- matrix: end -->)", re.DOTALL)

# Top to bottom in the order of a run's life, so that most edges lead down.
ROWS = [
    RunState.BLOCKED,
    RunState.SCHEDULED,
    RunState.PARKED,
    RunState.RUNNING,
    RunState.RETRYING,
    RunState.HELD,
    RunState.CANCELLING,
]
COLUMNS = [state for state in RunState if state.is_final]

Edge = tuple[RunState, RunState]

WIDTH, HEIGHT = 130, 66  # of a box
LEFT, TOP = 250, 70  # of the first box
ROW, COLUMN, LANE = 96, 146, 16
STYLE = """
  text { font: 13px ui-sans-serif, Helvetica, Arial, sans-serif; text-anchor: middle; }
  .caption { fill: #667085; text-anchor: start; }
  .live { fill: #fff7e0; stroke: #c98a00; } .final { fill: #e9eef5; stroke: #46566b; }
  path { fill: none; stroke-width: 1.4; }
  .on { stroke: #46566b; } .back { stroke: #2f6fdb; } .end { stroke: #98a2b3; }
  .tip { fill: #46566b; stroke: none; } circle { fill: #46566b; }
"""
TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" '
    'orient="auto"><path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>'
)


def matrix() -> str:
    """Every pair of states as a Markdown table; final states, which lead nowhere, have no row."""
    head = "| from \\ to | " + " | ".join(state.name for state in RunState) + " |"
    rule = "|---|" + ":-:|" * len(RunState)
    rows = [
        f"| **{old.name}** | "
        + " | ".join("●" if new in EDGES[old] else " " for new in RunState)
        + " |"
        for old in RunState
        if not old.is_final
    ]
    return "\n".join([head, rule, *rows]) + "\n"


def page(text: str) -> str:
    """The page with its matrix drawn anew."""
    return MATRIX.sub(lambda found: found[1] + matrix() + found[2], text)


def picture() -> str:
    """Live states in a column: edges between them to the left, to the endings on the right."""
    live = [(old, new) for old in ROWS for new in ROWS if new in EDGES[old]]
    final = [(old, new) for old in ROWS for new in COLUMNS if new in EDGES[old]]
    width = LEFT + WIDTH + COLUMN * len(COLUMNS) + 40
    height = _endings_top() + HEIGHT + 24
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Run states and the edges between them</title>",
        f"<style>{STYLE}</style>",
        TIP,
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text class="caption" x="{LEFT + WIDTH + 40}" y="34">a dot: this state may end so</text>',
        '<text class="caption" x="16" y="34">grey: onwards, blue: back</text>',
        *_brackets(live),
        *_wires(final),
        *_dots(final),
        *(_box(state, LEFT, _top(state), "live") for state in ROWS),
        *(_box(state, _column(state) - WIDTH // 2, _endings_top(), "final") for state in COLUMNS),
        "</svg>",
    ]
    return "\n".join(drawn) + "\n"


def _top(state: RunState) -> int:
    return TOP + ROWS.index(state) * ROW


def _endings_top() -> int:
    return TOP + len(ROWS) * ROW + 10


def _column(state: RunState) -> int:
    return LEFT + WIDTH + COLUMN // 2 + 30 + COLUMNS.index(state) * COLUMN


def _box(state: RunState, x: int, y: int, kind: str) -> str:
    return (
        f'<rect class="{kind}" x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>'
        f'<text x="{x + WIDTH // 2}" y="{y + HEIGHT // 2 + 5}">{state.name}</text>'
    )


def _wires(edges: list[Edge]) -> list[str]:
    """A wire leads right from each state; it drops into an ending wherever there is a dot."""
    wires = []
    for old, new in edges:
        x, y = _column(new), _top(old) + HEIGHT // 2
        wires.append(
            f'<path class="end" id="{old.name}-{new.name}" marker-end="url(#tip)" '
            f'd="M{LEFT + WIDTH},{y} H{x} V{_endings_top()}"/>'
        )
    return wires


def _dots(edges: list[Edge]) -> list[str]:
    places = [(_column(new), _top(old) + HEIGHT // 2) for old, new in edges]
    return [f'<circle cx="{x}" cy="{y}" r="4"/>' for x, y in places]


def _brackets(edges: list[Edge]) -> list[str]:
    """Each edge has a lane of its own, short ones nearest to the boxes, so that few cross."""
    lanes = sorted(edges, key=lambda edge: abs(_top(edge[0]) - _top(edge[1])))
    brackets = []
    for lane, (old, new) in enumerate(lanes, start=1):
        start, end = _port(old, (old, new), lanes), _port(new, (old, new), lanes)
        back, x = end < start, LEFT - 10 - lane * LANE
        turn = -6 if back else 6
        brackets.append(
            f'<path class="{"back" if back else "on"}" id="{old.name}-{new.name}" '
            f'marker-end="url(#tip)" d="M{LEFT},{start} H{x + 6} Q{x},{start} {x},{start + turn} '
            f'V{end - turn} Q{x},{end} {x + 6},{end} H{LEFT}"/>'
        )
    return brackets


def _port(state: RunState, edge: Edge, lanes: list[Edge]) -> int:
    """Where an edge meets its box: edges to boxes above come first, the outer lanes innermost."""

    def place(other: Edge) -> tuple[bool, int]:
        far = other[1] if other[0] is state else other[0]
        below = _top(far) > _top(state)
        return below, -lanes.index(other) if below else lanes.index(other)

    ports = sorted((lane for lane in lanes if state in lane), key=place)
    return _top(state) + (1 + ports.index(edge)) * HEIGHT // (1 + len(ports))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
