"""A service's folder: who uses it now, and the secret it keeps."""

import fcntl
import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

from infra.local.errors import ServiceFailed

POLL_SECONDS = 0.02


class FolderLock:
    """At most one service lives in a folder; flock, so that no crash leaves the lock behind.

    The descriptor is shared with the guardian. So the folder stays taken until the service itself
    has ended, also when the process that started it was killed a moment before.
    """

    def __init__(self, folder: Path, *, wait_seconds: float) -> None:
        self._path = folder / "lock"
        self._wait_seconds = wait_seconds
        self.descriptor = -1

    def take(self) -> None:
        """Take the folder, or say who has it. An owner that is dead is about to give it up."""
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + self._wait_seconds
        while not self._try():
            owner = self._owner()
            if alive(owner) or time.monotonic() > deadline:
                self._close()
                raise ServiceFailed(
                    f"{self._path.parent} is in use by process {owner}.\n"
                    "Stop that one first, or give this one another folder (--data)."
                )
            time.sleep(POLL_SECONDS)
        os.pwrite(self.descriptor, f"{os.getpid():<20}\n".encode(), 0)

    def release(self) -> None:
        """Give the folder back; harmless when it was never taken."""
        if self.descriptor >= 0:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)
            self._close()

    def _try(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _owner(self) -> int | None:
        """Who signed last; None for the instant between a lock and its first signature."""
        text = self._path.read_text(encoding="ascii").strip()
        return int(text) if text else None

    def _close(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def is_taken(folder: Path, owner: int) -> bool:
    """Whether that process lives and has the folder: its number alone may be another's by now."""
    try:
        with (folder / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return alive(owner)
    return False


def alive(process: int | None) -> bool:
    if process is None:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def secret(folder: Path) -> str:
    """The folder's password, made at first use. A loopback port is open to every local user."""
    path = folder / "password"
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii")
    made = secrets.token_urlsafe(24)
    write_private(path, made)
    return made


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, complete or not at all."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)
