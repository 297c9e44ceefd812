"""What goes into the zip of each function and into the core layer, file by file.

Both the stack and the tests that run the zips read it here, so what was tried is what is shipped.
Plain Python: nothing of the CDK is needed to know it. The dependency layer's content is decided by
`requirements/layer.txt` and `layers/dependencies/build.py`.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FUNCTIONS: Final = ROOT / "functions"
CORE: Final = ROOT / "layers" / "core" / "python" / "lamplighter"
# Fargate's: it comes in an image.
_NOT_LAMBDA: Final = frozenset({"worker"})
# Nobody types commands into Lambda, and the layer has no click to read them with.
_NOT_IN_LAYER: Final = frozenset({"cli"})
DOCKERFILE: Final = "infra/aws/worker.Dockerfile"
# Its content lies under /opt in the worker's image, as that of a layer does on Lambda.
OPT: Final = "infra/aws/opt"
_LOCK: Final = "requirements/worker.txt"

# Path inside the zip -> the file it is a copy of.
Files = Mapping[str, Path]


def function_names() -> list[str]:
    """Every function that Lambda calls: a folder with a `handler.py`."""
    found = (path.parent.name for path in FUNCTIONS.glob("*/handler.py"))
    return sorted(name for name in found if name not in _NOT_LAMBDA)


def entry(function: str) -> str:
    """What Lambda is told to call, and the same import path as everywhere else."""
    return f"functions.{function}.handler.handler"


def function_files(function: str) -> dict[str, Path]:
    """Its own folder under its own path, and of the others nothing."""
    folder = FUNCTIONS / function
    if not (folder / "handler.py").is_file():
        raise FileNotFoundError(f"there is no function {function!r}: no {folder / 'handler.py'}")
    own = {path.relative_to(ROOT).as_posix(): path for path in _sources(folder)}
    return {"functions/__init__.py": FUNCTIONS / "__init__.py", **own}


def core_files() -> dict[str, Path]:
    """The package with its SQL and Lua, under `python/`, where Lambda puts a layer on the path."""
    inside = ((path, path.relative_to(CORE)) for path in _sources(CORE))
    return {
        f"python/lamplighter/{at.as_posix()}": path
        for path, at in inside
        if at.parts[0] not in _NOT_IN_LAYER
    }


def worker_files(brought: Files) -> dict[str, Path]:
    """What Docker gets to build the worker's image from; `brought` is for its /opt."""
    fixed = {name: ROOT / name for name in (DOCKERFILE, _LOCK, f"{OPT}/README.md")}
    core = {f"layers/core/{name}": path for name, path in core_files().items()}
    more = {f"{OPT}/{name}": path for name, path in brought.items()}
    return {**fixed, **core, **function_files("worker"), **more}


def digest(files: Files) -> str:
    """The same for the same names and bytes, on any machine and at any time: an asset's hash."""
    found = hashlib.sha256()
    for name in sorted(files):
        found.update(f"{name}\0{hashlib.sha256(files[name].read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def write(files: Files, folder: Path) -> Path:
    """Lay the files out under `folder`, as they will lie in Lambda."""
    for name, source in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    return folder


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
