"""The folder in which a stack keeps everything: made where there is none, and kept out of git."""

from pathlib import Path
from typing import Final

from infra.local.errors import ServiceFailed

_IGNORES: Final = ".gitignore"
# What a stack and its components put there.
_OWN: Final = frozenset(
    {
        _IGNORES, "kafka", "lock", "logs", "postgres", "runs", "secrets", "stack.json",
        "stack.json.new", "traces.jsonl", "valkey",
    }
)  # fmt: skip


def make_folder(folder: Path) -> None:
    """Refuses a place where nothing can be kept, in words: people mistype `--data`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lock").touch(0o600)
    except OSError as problem:
        raise ServiceFailed(
            f"{folder} cannot hold the data: {problem.strerror}.\n"
            "Choose another folder with --data, or with LAMPLIGHTER_DATA_DIR."
        ) from None


def keep_out_of_git(folder: Path) -> None:
    """Data and passwords belong in nobody's repository.

    A folder with other things in it is somebody's, and so is what git is to make of it.
    """
    if {each.name for each in folder.iterdir()} <= _OWN - {_IGNORES}:
        (folder / _IGNORES).write_text("*\n", encoding="ascii")
