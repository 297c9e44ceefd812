"""Builds the dependency layer from `requirements/layer.txt`: wheels, hashes, no Docker.

`python -m layers.dependencies.build [arm64|here]` prints the folder; what Lambda unpacks to `/opt`
is in it. It is built once for each lock and platform, and kept in `.cache/layers`.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from layers.bytecode import HERE, LAMBDA, Version, add_bytecode

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = ROOT / "requirements" / "layer.txt"
CACHE: Final = ROOT / ".cache" / "layers"
# All layers and the code together may have 250 MB, but every cold start pays for what is here.
MOST_BYTES: Final = 60_000_000
_USELESS_FOLDERS: Final = frozenset({"__pycache__", "bin", "test", "tests"})
_USELESS_FILES: Final = ("*.pyi", "*.pyx", "*.pxd", "py.typed")


class LayerFailed(Exception):
    """There is no layer. Says why."""


@dataclass(frozen=True)
class Platform:
    """For whom wheels are chosen; without pip options, for whoever builds."""

    name: str
    python: Version
    options: tuple[str, ...] = ()


# Three names for one machine: each package's wheel has the tag of its own builder's age.
ARM64: Final = Platform(
    "arm64",
    LAMBDA,
    (
        "--platform=manylinux_2_28_aarch64",
        "--platform=manylinux_2_17_aarch64",
        "--platform=manylinux2014_aarch64",
        "--implementation=cp",
        f"--python-version={LAMBDA[0]}.{LAMBDA[1]}",
    ),
)


def this_machine() -> Platform:
    """What the tests run: the same lock, for the Python that runs them."""
    return Platform(f"{platform.system()}-{platform.machine()}".lower(), HERE)


def layer(wanted: Platform = ARM64, *, cache: Path = CACHE) -> Path:
    """The folder of a layer, with `python/` in it; built at first use."""
    folder = cache / digest(wanted)
    if not folder.exists():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            _build(wanted, fresh / "python")
            _put_in_place(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return folder


def digest(wanted: Platform) -> str:
    """Of the lock, the platform and this recipe: what decides the content, so the asset's hash."""
    parts = (LOCK.read_bytes(), repr(wanted).encode(), Path(__file__).read_bytes())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _build(wanted: Platform, target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    exact = ["--require-hashes", "--no-deps", "--only-binary=:all:", "--no-compile"]
    asked = [*pip, *exact, *wanted.options, f"--target={target}", f"--requirement={LOCK}"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerFailed(f"pip could not build the layer {wanted.name}:\n{done.stderr}")
    _strip(target)
    add_bytecode(target, wanted.python)
    check_size(target)


def _put_in_place(fresh: Path, folder: Path) -> None:
    """A folder that exists is complete. Where somebody else was quicker, theirs is as good."""
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.exists():
            raise


def _strip(target: Path) -> None:
    """Take out what no import reads. `*.dist-info` stays: packages look up their own version."""
    for path in sorted(target.rglob("*")):
        if path.is_dir() and path.name in _USELESS_FOLDERS:
            shutil.rmtree(path)
        elif path.is_file() and any(path.match(each) for each in _USELESS_FILES):
            path.unlink()


def check_size(target: Path, most: int = MOST_BYTES) -> None:
    """Raise where the layer is too big, with what makes it so."""
    by_package = Counter[str]()
    for path in _files(target):
        by_package[path.relative_to(target).parts[0]] += path.stat().st_size
    if (total := by_package.total()) > most:
        lines = "\n".join(f"{size:>12,}  {name}" for name, size in by_package.most_common(12))
        raise LayerFailed(
            f"the layer has {total:,} bytes, and {most:,} is the most. The largest in it:\n{lines}"
        )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


def main(arguments: Sequence[str]) -> int:
    """Print where the layer is; build it where it is not."""
    parser = argparse.ArgumentParser(prog="python -m layers.dependencies.build")
    parser.add_argument("platform", nargs="?", choices=["arm64", "here"], default="arm64")
    chosen = ARM64 if parser.parse_args(arguments).platform == "arm64" else this_machine()
    try:
        sys.stdout.write(f"{layer(chosen)}\n")
    except LayerFailed as failed:
        sys.stderr.write(f"{failed}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
