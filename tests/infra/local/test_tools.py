"""A tool that is missing: skipped and said last on a laptop, an error in CI."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local.errors import ServiceFailed
from infra.local.kafka import jars
from infra.local.tools import JAVA, MAVEN, NODE, Tool, Verdict, judge, missing


def _program(folder: Path, name: str, text: str, *, code: int = 0) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat <<'END' >&2\n{text}\nEND\nexit {code}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("tool", "says", "there"),
    [
        (JAVA, 'openjdk version "17.0.15" 2025-04-15', True),
        (JAVA, 'openjdk version "21" 2023-09-19', True),
        (JAVA, 'java version "1.8.0_402"', False),
        (MAVEN, "\x1b[1mApache Maven 3.8.7\x1b[m", True),
        (MAVEN, "Apache Maven 4.0.0 (abc)", True),
        (NODE, "v20.20.2", True),
        (NODE, "v18.19.0", False),
        (NODE, "gibberish", False),
    ],
)
def test_a_tool_counts_from_its_least_version_on(
    tool: Tool, says: str, there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, tool.program, says)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin:/bin")

    assert (missing([tool]) == []) is there


def test_a_program_that_only_says_how_to_install_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path, "java", 'version "17": visit the shop', code=1)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin:/bin")

    assert missing([JAVA]) == [JAVA]


def test_nothing_skipped_is_nothing_to_say() -> None:
    assert judge({}, {"kafka": [MAVEN]}, ci=True) == Verdict(fails=False, lines=())


@pytest.mark.parametrize("ci", [True, False])
def test_what_was_skipped_is_said_with_the_way_to_get_the_tool(ci: bool) -> None:
    verdict = judge({"kafka": 4, "node": 1}, {"kafka": [JAVA, MAVEN], "node": [NODE]}, ci=ci)

    said = "\n".join(verdict.lines)
    assert "4 tests marked kafka" in said
    assert "1 test marked node" in said
    assert all(tool.advice in said for tool in (JAVA, MAVEN, NODE))
    assert verdict.fails is ci
    assert ("CI=true" in said) is ci


@pytest.mark.parametrize(("ci", "code", "workers"), [("true", 1, "1"), ("", 0, "0")])
def test_the_last_lines_of_a_run_tell_what_is_missing(ci: str, code: int, workers: str) -> None:
    environment = {**os.environ, "PATH": os.fspath(Path(sys.executable).parent), "CI": ci}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # the others take longer than the run
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "xdist.plugin", "-n", workers,
         "-k", "starter_is_killed and kafka", str(Path(__file__).with_name("test_service.py"))],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    last = [line for line in ran.stdout.splitlines() if line][-(4 if ci else 3) :]
    assert last[0] == "NOT RUN: 1 test marked kafka, for want of a tool."
    assert JAVA.advice in last[1]
    assert MAVEN.advice in last[2]
    assert ran.returncode == code


def test_every_test_of_a_module_that_needs_node_is_counted() -> None:
    module = Path(__file__).parents[1] / "aws" / "test_network.py"
    environment = {**os.environ, "PATH": os.fspath(Path(sys.executable).parent), "CI": ""}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", str(module)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    count = module.read_text(encoding="utf-8").count("\ndef test_")
    assert count > 1
    assert f"NOT RUN: {count} tests marked node, for want of a tool." in ran.stdout


def test_jars_without_maven_say_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(jars, "missing", lambda _: [MAVEN])

    with pytest.raises(ServiceFailed, match="install the package maven"):
        jars.jars()
    assert jars.main(["--if-possible"]) == 0
    assert not (tmp_path / "cache").exists()


@pytest.mark.kafka
def test_the_jars_are_those_that_the_pom_names() -> None:
    names = {path.name for path in jars.jars().iterdir()}

    assert f"kafka_2.13-{jars.version()}.jar" in names
    assert any(name.startswith("log4j-slf4j-impl-") for name in names)
