"""One row per figure, as a table for people and as JSON for programs; and pictures."""

import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

# Of the newest run, one file of each per benchmark; `page.py` keeps them in the docs.
RESULTS: Final = Path(__file__).resolve().parent.parent / "build" / "bench"
Row = dict[str, Any]  # name, unit, value; floor and ratio where there is something to compare with


def table(rows: Sequence[Row]) -> str:
    lines = [("what", "value", "", "floor", "ratio", "note")]
    for row in rows:
        floor, ratio = row.get("floor"), row.get("ratio")
        lines.append(
            (
                row["name"],
                _number(row["value"]),
                row["unit"],
                "" if floor is None else _number(floor),
                "" if ratio is None else f"{ratio:.2f}",
                row.get("note", ""),
            )
        )
    widths = [max(len(line[column]) for line in lines) for column in range(6)]
    return "\n".join(_aligned(line, widths) for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    name, value, unit, floor, ratio, note = line
    cells = (
        name.ljust(widths[0]),
        value.rjust(widths[1]),
        unit.ljust(widths[2]),
        floor.rjust(widths[3]),
        ratio.rjust(widths[4]),
        note,
    )
    return "  ".join(cells).rstrip()


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.2f}"


def as_json(rows: Sequence[Row]) -> str:
    machine = {"python": platform.python_version(), "machine": platform.machine()}
    measured = datetime.now(UTC).isoformat(timespec="seconds")
    return json.dumps({"measured_at": measured, **machine, "rows": list(rows)}, indent=2)


def not_measured(name: str, reason: str) -> Row:
    return {"name": name, "unit": "", "value": 0, "note": f"not measured: {reason}"}


def draw(name: str, svg: str) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.svg").write_text(svg, encoding="utf-8")


def store(name: str, rows: Sequence[Row]) -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(as_json(rows) + "\n", encoding="utf-8")
