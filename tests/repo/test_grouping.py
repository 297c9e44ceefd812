"""Tests that share a server run on one worker: xdist's groups are kept (tests/grouping.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_TESTS = """
import pytest

@pytest.mark.parametrize("n", range(6))
@pytest.mark.xdist_group("together")
def test_grouped(n): ...

@pytest.mark.parametrize("n", range(6))
def test_loose(n): ...
"""


def test_a_group_stays_on_one_worker(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(_TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "xdist.plugin", "-p", "tests.grouping", "-v"]
    command += ["--numprocesses", "2", "--dist", "loadgroup", "--rootdir", ".", "."]
    # Without what an outer run of xdist hands down, and without the other plugins: quicker.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    workers = re.findall(
        r"^\[(gw\d)\].* PASSED test_some\.py::test_(\w+)", ran.stdout, re.MULTILINE
    )
    assert len(workers) == 12, ran.stdout + ran.stderr
    assert len({worker for worker, kind in workers if kind == "grouped"}) == 1
    assert len({worker for worker, _ in workers}) == 2
