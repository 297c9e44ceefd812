"""docs/observability.md says what the code tells, metric by metric and line by line."""

import re
from pathlib import Path

from lamplighter.telemetry.metrics import METRICS, NAMESPACE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")


def _rows(heading: str) -> list[list[str]]:
    part = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_metric_is_on_the_page_with_its_unit_and_dimensions() -> None:
    told = {
        name.strip("`"): (unit, tuple(re.findall(r"`(\w+)`", dimensions)))
        for name, unit, dimensions, *_ in _rows("Metrics")
    }
    assert told == {metric.name: (metric.unit, metric.by) for metric in METRICS}
    assert f"namespace `{NAMESPACE}`" in PAGE


def test_every_alarm_that_the_page_names_exists() -> None:
    alarms = (ROOT / "infra" / "aws" / "constructs" / "alarms.py").read_text(encoding="utf-8")
    named = {row[-1].partition(" ")[0] for row in _rows("Metrics")} - {""}
    assert len(named) == 7
    assert {name for name in named if f'"{name}"' not in alarms} == set()


def test_every_line_that_the_page_promises_is_written_by_somebody() -> None:
    folders = [ROOT / "layers" / "core" / "python", ROOT / "functions"]
    code = "".join(path.read_text("utf-8") for each in folders for path in each.rglob("*.py"))
    promised = [row[0].strip("`") for row in _rows("Log lines")]
    assert len(promised) == 6
    assert [message for message in promised if f'"{message}"' not in code] == []
