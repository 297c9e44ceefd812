"""The worker's image, as far as it can be built without Docker: its files, laid out and started.

What pip would install is the layer of the same lock, for this machine; and what Docker's COPY would
copy is copied, from the folder that the stack hands to Docker.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from infra.aws import assets
from infra.aws.brought import handler_files
from infra.aws.disk import Machine
from infra.local.postgres import Postgres
from infra.local.valkey import Valkey
from lamplighter.adapters.postgres.migrate import migrate
from tests.runtime.cell import until

LINES = (assets.ROOT / assets.DOCKERFILE).read_text(encoding="utf-8").replace("\\\n", " ")
HANDLER = """
from lamplighter.adapters.targets.python.handlers import handler

@handler("shop.bill")
def bill(payload, context):
    return {"sum": sum(payload)}
"""


def instructions(name: str) -> list[str]:
    return re.findall(rf"^{name} (.+)$", LINES, re.MULTILINE)


def copies() -> list[tuple[str, str]]:
    """From where in the context to where in the image."""
    return [(source, target) for source, target in map(str.split, instructions("COPY"))]


@dataclass(frozen=True)
class Image:
    root: Path
    packages: list[Path]

    @property
    def folder(self) -> Path:
        (workdir,) = instructions("WORKDIR")
        return self.root / workdir.lstrip("/")

    def environment(self) -> dict[str, str]:
        """The Dockerfile's, with the image's own root; then what pip has installed, and no more."""
        told = dict(pair.split("=") for line in instructions("ENV") for pair in line.split())
        own = f"{self.root}{told['PYTHONPATH']}"
        return told | {"PYTHONPATH": ":".join([own, *map(str, self.packages)])}

    def entry(self) -> list[str]:
        (line,) = instructions("ENTRYPOINT")
        python, *words = json.loads(line)
        assert python == "python"
        return [sys.executable, "-S", "-s", *words]


@pytest.fixture
def image(tmp_path: Path, machine: Machine) -> Image:
    (tmp_path / "mine" / "shop").mkdir(parents=True)
    (tmp_path / "mine" / "shop" / "nightly.py").write_text(HANDLER, encoding="utf-8")
    files = assets.worker_files(handler_files(tmp_path / "mine"))
    context = assets.write(files, tmp_path / "context")
    disk = machine.disk("executor")
    made = Image(tmp_path / "image", [disk.dependencies / "python", disk.runtime])
    made.folder.mkdir(parents=True)  # as WORKDIR does
    for source, target in copies():
        at = made.root / target[1:] if target.startswith("/") else made.folder / target
        _copy(context / source, at)
    return made


def _copy(source: Path, target: Path) -> None:
    """As Docker does: a folder's content; a file by its new name, or under its own in a folder."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
        return
    target = target / source.name if target.is_dir() else target
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


@pytest.fixture
def database(postgres_server: Postgres) -> str:
    url = postgres_server.ensure_database(f"w{uuid4().hex}")
    migrate(url)
    return url


def test_what_the_dockerfile_copies_is_in_its_context_and_in_the_tree() -> None:
    """The tree itself is the context for whoever builds by hand: nothing may be ignored there."""
    files = assets.worker_files({})

    assert len(copies()) >= 5
    for source, _ in copies():
        assert [name for name in files if name == source or name.startswith(f"{source}/")], source
        assert (assets.ROOT / source).exists(), source
    assert not (assets.ROOT / ".dockerignore").exists()
    assert not (assets.ROOT / f"{assets.DOCKERFILE}.dockerignore").exists()


def test_every_file_of_the_context_is_copied() -> None:
    copied = tuple(source for source, _ in copies())
    left = [
        name
        for name in assets.worker_files({})
        if not any(name == source or name.startswith(f"{source}/") for source in copied)
    ]

    assert left == [assets.DOCKERFILE]


def test_the_lock_is_installed_with_its_hashes_and_nobody_is_root() -> None:
    (install,) = instructions("RUN")

    assert "--require-hashes --only-binary=:all: -r worker.txt" in install
    assert instructions("USER") == ["worker"]
    assert LINES.index("\nUSER ") < LINES.index("\nENTRYPOINT ")


@pytest.fixture
def worker(image: Image, database: str, valkey_server: Valkey) -> Iterator[subprocess.Popen[str]]:
    told = {
        "PATH": os.environ["PATH"],
        "LAMPLIGHTER_DATABASE_URL": database,
        "LAMPLIGHTER_VALKEY_URL": valkey_server.url,
        "LAMPLIGHTER_CELL": f"c{uuid4().hex[:12]}",
        "LAMPLIGHTER_POOL": "tasks",
        "LAMPLIGHTER_COMMANDS": "false",
        "LAMPLIGHTER_HANDLER_MODULES": "shop.nightly",
        "LAMPLIGHTER_DATA_DIR": str(image.root / "tmp"),
    }
    started = subprocess.Popen(
        image.entry(),
        cwd=image.folder,
        env=image.environment() | told,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield started
    started.kill()
    started.wait()


def test_the_entry_starts_from_these_files_and_ends_when_it_is_told(
    worker: subprocess.Popen[str], database: str
) -> None:
    def is_at_work() -> bool:
        assert worker.poll() is None, worker.communicate()[0]
        with psycopg.connect(database) as connection:
            return connection.execute("SELECT pool FROM workers").fetchall() == [("tasks",)]

    until(is_at_work)
    worker.send_signal(signal.SIGTERM)

    said, _ = worker.communicate(timeout=30)
    assert worker.returncode == 0, said
