"""Logs that do not grow for ever: one file, and the one before it."""

import os
import shutil
from pathlib import Path
from typing import Final

LARGEST_BYTES: Final = 20 * 1024 * 1024


def renew(log: Path) -> None:
    """Start a fresh log and keep the one before: its end tells why the last run ended."""
    log.parent.mkdir(parents=True, exist_ok=True)
    if log.exists():
        log.replace(_before(log))
    log.touch(mode=0o600)


def bound(log: Path, largest: int = LARGEST_BYTES) -> None:
    """Move the text of a log that has grown too large aside; whoever writes it, goes on writing.

    The writer has the file open, so the file stays and its text is copied. A line that is written
    in between the two steps is lost: a price for needing nobody's help.
    """
    if log.exists() and log.stat().st_size > largest:
        shutil.copyfile(log, _before(log))
        os.truncate(log, 0)


def _before(log: Path) -> Path:
    return log.with_name(f"{log.name}.before")
