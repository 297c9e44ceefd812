"""What `up` tells people to type can be typed."""

import sys
from pathlib import Path

import pytest

from infra.local import command


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "checkout" / ".venv" / "bin" / "lamplighter"
    path.parent.mkdir(parents=True)
    path.touch(mode=0o755)
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.setattr(sys, "argv", [str(path), "up"])
    return path


def test_a_program_on_the_path_is_called_by_its_name(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(program.parent))
    assert command._program() == "lamplighter"


def test_one_that_is_not_is_called_where_it_is(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(program.parents[2]))
    assert command._program() == ".venv/bin/lamplighter"


def test_where_another_program_runs_it_stands_beside_python(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["/elsewhere/__main__.py", "up"])
    monkeypatch.setattr(sys, "executable", str(program.with_name("python")))
    assert command._program() == ".venv/bin/lamplighter"
