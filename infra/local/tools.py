"""Programs that Lamplighter can use and does not carry: is each here, and how does one get it."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True)
class Tool:
    """A program, the least major version of it that will do, and how it shows its version."""

    program: str
    title: str
    least: int
    version_argument: str
    advice: str


JAVA: Final = Tool(
    "java",
    "a JDK 17+",
    17,
    "-version",
    "Kafka needs a JDK 17 or later: install openjdk-17-jdk-headless (or temurin, or brew openjdk).",
)
MAVEN: Final = Tool(
    "mvn",
    "Maven",
    3,
    "--version",
    "Kafka's jars come through Maven: install the package maven (apt, dnf, brew).",
)
NODE: Final = Tool(
    "node",
    "Node 20+",
    20,
    "--version",
    "The dashboard and the CDK need Node 20 or later: nodejs.org, or your package manager.",
)

KAFKA_TOOLS: Final = (JAVA, MAVEN)
# Which tools the tests under a marker need.
NEEDED_BY: Final[Mapping[str, tuple[Tool, ...]]] = {"kafka": KAFKA_TOOLS, "node": (NODE,)}


def missing(tools: Iterable[Tool]) -> list[Tool]:
    """Those of the tools that are not here, or too old."""
    places = {tool: shutil.which(tool.program) for tool in tools}
    return [tool for tool, place in places.items() if _major_version(tool, place) < tool.least]


@cache
def _major_version(tool: Tool, place: str | None) -> int:
    """What it reports; 0 where it is absent or fails, like the `java` of macOS that only asks."""
    if not place:
        return 0
    asked = subprocess.run(
        [place, tool.version_argument], capture_output=True, text=True, check=False
    )
    # As in: openjdk version "17.0.15", Apache Maven 3.8.7, v20.20.2; escapes for colour around.
    found = re.search(r'(?:version "|Maven |\bv)(\d+)', asked.stdout + asked.stderr)
    return int(found.group(1)) if found and asked.returncode == 0 else 0


@dataclass(frozen=True)
class Verdict:
    """What to do about tests whose tools are not here."""

    fails: bool
    lines: tuple[str, ...]


def judge(skipped: Mapping[str, int], absent: Mapping[str, list[Tool]], *, ci: bool) -> Verdict:
    """From the number of tests skipped per marker: the closing words, and whether the run fails.

    On a laptop a missing tool is a choice. In CI it would be a hole in what was checked.
    """
    lines: list[str] = []
    for marker, count in sorted(skipped.items()):
        lines.append(f"NOT RUN: {_tests(count)} marked {marker}, for want of a tool.")
        lines += [f"  {tool.title} is missing. {tool.advice}" for tool in absent[marker]]
    if lines and ci:
        lines.append("CI=true: a missing tool is an error.")
    return Verdict(fails=bool(lines) and ci, lines=tuple(lines))


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"
