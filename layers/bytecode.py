"""Bytecode beside the code: Lambda's disk is read-only, so Python would compile at every start.

It halves the time that an import takes. It needs a Python of the same version as Lambda's; where
there is none, the code goes alone, and starts the slower.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

Version = tuple[int, int]
LAMBDA: Final[Version] = (3, 13)
HERE: Final[Version] = sys.version_info[:2]


def add_bytecode(folder: Path, version: Version = LAMBDA) -> bool:
    """For every source under `folder`; False where no such Python is here.

    Unchecked: Python compares neither times, which a zip does not keep, nor content.
    """
    python = interpreter(version)
    if python is None:
        return False
    how = ["-m", "compileall", "-q", "--invalidation-mode=unchecked-hash"]
    subprocess.run([python, "-I", *how, str(folder)], check=True, capture_output=True)
    return True


@cache
def interpreter(version: Version) -> str | None:
    """A Python of that version: this one, one on the PATH, or one that pyenv keeps off it."""
    if version == HERE:
        return sys.executable
    name = f"python{version[0]}.{version[1]}"
    kept = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    candidates = [shutil.which(name), *map(str, kept.glob(f"*/bin/{name}"))]
    return next((each for each in candidates if each and _is(each, version)), None)


def _is(python: str, version: Version) -> bool:
    """By asking: what pyenv puts on the PATH has every name, and not always a Python behind it."""
    asked = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-c", asked], capture_output=True, text=True, check=False)
    return done.stdout.split() == [str(part) for part in version]
