"""An environment of its own for each peer, made at first use under build/peers and kept there.

Versions and hashes are in this folder: NAME.txt for Python, go.mod and go.sum, package-lock.json.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.peers.table import Peer

HERE: Final = Path(__file__).resolve().parent
BUILT: Final = HERE.parent.parent / "build" / "peers"
INSTALL_SECONDS: Final = 600
# Hashes vouch for every file. No source archives: their builds would fetch packages without hashes.
# A lock names everything: who asks pip for `psycopg[pool]` besides is given the newest, unvouched.
_PIP: Final = (
    "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
    "--require-hashes", "--no-deps", "--only-binary", ":all:",
)  # fmt: skip


class NotHere(Exception):
    """A peer cannot be installed on this machine; the text says why."""


def command(peer: Peer) -> list[str]:
    """What starts its program, once everything that it needs is there."""
    match peer.kind:
        case "python":
            return _python(peer)
        case "go":
            return _go(peer)
        case "node":
            return _node(peer)


def version(peer: Peer) -> str:
    """As it is pinned."""
    pins = {
        "python": (f"{peer.name}.in", rf"^{peer.name}\S*==(\S+)"),
        "go": (f"{peer.name}/go.mod", rf"/{peer.name} v(\S+)"),
        "node": (f"{peer.name}/package.json", rf'"{peer.name}": "([\d.]+)"'),
    }
    file, pattern = pins[peer.kind]
    found = re.search(pattern, (HERE / file).read_text(encoding="utf-8"), re.MULTILINE)
    return found.group(1) if found else "of unknown version"


def _python(peer: Peer) -> list[str]:
    place, pinned = BUILT / peer.name, HERE / f"{peer.name}.txt"
    python = str(place / "bin" / "python")
    if not _is_made(place, [pinned]):
        _run([sys.executable, "-m", "venv", "--clear", str(place)], HERE)
        _run([python, *_PIP, "-r", str(pinned)], HERE)
        _made(place, [pinned])
    return [python, "-m", f"benchmarks.peers.{peer.name}_app"]


def _go(peer: Peer) -> list[str]:
    """Go knows itself what has changed."""
    program = str(BUILT / peer.name / peer.name)
    _run([_tool("go"), "build", "-mod=readonly", "-o", program, "."], HERE / peer.name)
    return [program]


def _node(peer: Peer) -> list[str]:
    """The program lies beside its modules, where Node looks for them."""
    source, place = HERE / peer.name, BUILT / peer.name
    files = sorted(source.glob("*.*"))
    node, npm = _tool("node"), _tool("npm")
    if not _is_made(place, files):
        place.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, place)
        # Not `npm ci`: it insists on a lock with the parts of all platforms.
        _run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund"], place)
        _made(place, files)
    return [node, str(place / "main.mjs")]


def _tool(name: str) -> str:
    if place := shutil.which(name):
        return place
    raise NotHere(f"there is no {name} here")


def _run(arguments: Sequence[str], folder: Path) -> None:
    try:
        ran = subprocess.run(
            arguments, cwd=folder, capture_output=True, text=True, check=False,
            timeout=INSTALL_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired as slow:
        raise NotHere(f"{Path(arguments[0]).name} took more than {INSTALL_SECONDS} s") from slow
    if ran.returncode:
        raise NotHere(f"{Path(arguments[0]).name} failed: {gist(ran.stderr or ran.stdout)}")


def gist(text: str) -> str:
    """The last line, which names the cause; npm and its kin go on to tell where their log is."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    useful = [line for line in lines if "log of this run" not in line]
    return useful[-1] if useful else "it said nothing"


def _is_made(place: Path, sources: Sequence[Path]) -> bool:
    stamp = place / "made-of"
    return stamp.is_file() and stamp.read_text(encoding="ascii") == _digest(sources)


def _made(place: Path, sources: Sequence[Path]) -> None:
    (place / "made-of").write_text(_digest(sources), encoding="ascii")


def _digest(sources: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
