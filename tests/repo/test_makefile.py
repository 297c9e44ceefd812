"""The front door: what `make help` promises is there, and what is there is promised."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPECTED = {"help", "up", "test", "lint", "fmt", "bench", "synth", "clean"}


def _make(*arguments: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    # Without what an outer make hands down, which would make this one part of its job.
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def _phony() -> set[str]:
    declared = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared
    return set(declared.group(1).split())


def test_help_lists_every_target_with_a_line() -> None:
    lines = [line.split(maxsplit=2) for line in _make("help").stdout.splitlines()]

    assert {name: bool(text) for _, name, text in lines} == dict.fromkeys(_phony(), True)
    assert _phony() >= EXPECTED


def test_a_bare_make_is_help() -> None:
    assert _make().stdout == _make("help").stdout


def test_an_old_python_is_refused_in_plain_words(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    old.chmod(0o755)

    refused = _make(".venv/bin/python", f"PYTHON={old}", folder=tmp_path)

    assert refused.returncode != 0
    assert "needs Python 3.11 or later" in refused.stderr
    assert not (tmp_path / ".venv").exists()


def test_a_python_without_venv_leaves_nothing_half_made(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    poor = tmp_path / "python3"
    # It passes the version check, and makes half an environment before it fails.
    poor.write_text(
        '#!/bin/sh\n[ "$1" = -c ] && exit 0\nmkdir -p .venv/bin; touch .venv/bin/python; exit 1\n',
        encoding="ascii",
    )
    poor.chmod(0o755)

    refused = _make(".venv/bin/python", f"PYTHON={poor}", folder=tmp_path)

    assert refused.returncode != 0
    assert "has no venv module" in refused.stderr
    assert not (tmp_path / ".venv").exists()


def test_synth_runs_the_app() -> None:
    assert "-m infra.aws.app" in _make("--dry-run", "synth").stdout


def test_ci_runs_what_everyone_runs() -> None:
    script = ROOT / ".ci" / "run"

    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").rstrip().endswith("exec make test")


@pytest.mark.parametrize("target", ["lint", "test"])
def test_what_is_checked_includes(target: str) -> None:
    steps = _make("--dry-run", "--always-make", target).stdout

    for step in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert step in steps
    assert ("pytest" in steps) is (target == "test")
    assert "--require-hashes" in steps
