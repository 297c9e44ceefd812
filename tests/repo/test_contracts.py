"""The import contracts of pyproject.toml break when they should, on a small tree of our shape."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = Path(sys.executable).with_name("lint-imports")
SOUND = {
    "lamplighter/__init__.py": "",
    "lamplighter/settings.py": "",
    "lamplighter/helper.py": "",
    "lamplighter/domain/__init__.py": "",
    "lamplighter/domain/job.py": "",
    "lamplighter/ports/__init__.py": "import lamplighter.domain.job",
    "lamplighter/adapters/__init__.py": "import psycopg, lamplighter.ports",
    "lamplighter/cli/__init__.py": "import lamplighter.adapters",
    "infra/__init__.py": "import lamplighter.cli, functions.submit",
    "functions/__init__.py": "",
    "functions/submit/__init__.py": "import lamplighter.stages",
    "functions/query/__init__.py": "",
    "lamplighter/stages/__init__.py": "",
    "lamplighter/stages/tick.py": "",
}


def _lint(tree: dict[str, str], folder: Path) -> "subprocess.CompletedProcess[str]":
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, text in tree.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return subprocess.run(
        [LINT, "--no-cache"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("package", ["domain", "ports", "stages"])
def test_a_package_that_must_stay_pure_is_named_once_it_exists(package: str) -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    named = next(c["source_modules"] for c in contracts if c["type"] == "forbidden")
    exists = (ROOT / "layers/core/python/lamplighter" / package / "__init__.py").exists()

    assert (f"lamplighter.{package}" in named) is exists


def test_a_sound_tree_passes(tmp_path: Path) -> None:
    ran = _lint(SOUND, tmp_path)

    assert ran.returncode == 0, ran.stdout
    assert "0 broken" in ran.stdout


@pytest.mark.parametrize(
    ("changed", "contract"),
    [
        ({"lamplighter/domain/job.py": "import lamplighter.ports"}, "Imports point one way"),
        ({"lamplighter/ports/__init__.py": "import lamplighter.cli"}, "Imports point one way"),
        ({"lamplighter/stages/tick.py": "import lamplighter.adapters"}, "Imports point one way"),
        ({"lamplighter/cli/__init__.py": "import infra"}, "never imports functions or infra"),
        ({"lamplighter/cli/__init__.py": "import functions"}, "never imports functions or infra"),
        ({"functions/query/__init__.py": "import functions.submit"}, "never import each other"),
        ({"lamplighter/domain/__init__.py": "import psycopg"}, "reach no driver"),
        ({"lamplighter/ports/__init__.py": "import valkey"}, "reach no driver"),
        ({"lamplighter/stages/tick.py": "import boto3"}, "reach no driver"),
        (
            {
                "lamplighter/stages/tick.py": "import lamplighter.helper",
                "lamplighter/helper.py": "import confluent_kafka",
            },
            "reach no driver",
        ),
    ],
)
def test_an_import_that_points_the_wrong_way_breaks(
    changed: dict[str, str], contract: str, tmp_path: Path
) -> None:
    ran = _lint({**SOUND, **changed}, tmp_path)

    assert ran.returncode != 0
    broken = [line for line in ran.stdout.splitlines() if line.endswith("BROKEN")]
    assert any(contract in line for line in broken), ran.stdout
