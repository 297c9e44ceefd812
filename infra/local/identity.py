"""PostgreSQL refuses to run as root. This is what root needs so that another user can run it."""

import os
import pwd
import stat
from pathlib import Path

from infra.local.child import Identity

TRAVERSE = stat.S_IXOTH
READ = stat.S_IROTH


def lesser_identity() -> Identity | None:
    """For root, the user that owns nothing; for everybody else None: they run it themselves.

    `nobody` is on every system. A user of our own would have to be added to the machine, which
    not every image has the tools for, and nobody would ever remove it.
    """
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return Identity(entry.pw_uid, entry.pw_gid)


def let_pass(path: Path) -> None:
    """Let other users pass through, not list, every folder above the path."""
    for folder in path.parents:
        _add(folder, TRAVERSE)


def let_read(tree: Path) -> None:
    """Let other users read and run what a strict umask installed for root alone."""
    if tree.stat().st_mode & READ and tree.stat().st_mode & TRAVERSE:
        return
    for path in [tree, *tree.rglob("*")]:
        runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        _add(path, READ | TRAVERSE if runs else READ)


def _add(path: Path, bits: int) -> None:
    mode = path.stat().st_mode
    if mode & bits != bits:
        path.chmod(stat.S_IMODE(mode) | bits)
