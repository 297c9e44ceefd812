import os
import stat
import subprocess
from pathlib import Path

import pytest

from infra.local.errors import ServiceFailed, tail
from infra.local.folder import FolderLock, secret, write_private


def test_a_taken_folder_names_its_owner_and_can_be_taken_after_release(folder: Path) -> None:
    first, second = (FolderLock(folder, wait_seconds=30) for _ in range(2))
    first.take()

    with pytest.raises(ServiceFailed, match=f"in use by process {os.getpid()}.*\n.*--data"):
        second.take()

    first.release()
    second.take()
    second.release()


def test_releasing_a_lock_that_was_never_taken_is_harmless(folder: Path) -> None:
    FolderLock(folder, wait_seconds=0).release()


def test_a_dead_owner_is_waited_for_but_not_for_ever(folder: Path) -> None:
    holder = FolderLock(folder, wait_seconds=0)
    holder.take()
    with subprocess.Popen(["true"]) as process:
        dead = process.pid
    os.pwrite(holder.descriptor, f"{dead:<20}\n".encode(), 0)

    with pytest.raises(ServiceFailed, match=f"in use by process {dead}"):
        FolderLock(folder, wait_seconds=0.1).take()

    holder.release()


def test_a_secret_is_made_once_and_private(folder: Path) -> None:
    made = secret(folder)

    assert len(made) >= 32
    assert secret(folder) == made
    assert stat.S_IMODE((folder / "password").stat().st_mode) == 0o600


def test_two_folders_have_two_secrets(folder: Path, tmp_path: Path) -> None:
    assert secret(folder) != secret(tmp_path)


def test_a_private_file_is_replaced_whole(folder: Path) -> None:
    path = folder / "file"
    path.write_text("old and longer", encoding="ascii")
    # As a crash in the middle of a former attempt leaves it.
    (folder / "file.new").write_text("ol", encoding="ascii")

    write_private(path, "new")

    assert path.read_text(encoding="ascii") == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (folder / "file.new").exists()


def test_a_tail_is_the_last_twenty_lines(folder: Path) -> None:
    log = folder / "log"
    log.write_text("".join(f"line {n}\n" for n in range(100)), encoding="utf-8")

    assert tail(log).splitlines() == [f"    line {n}" for n in range(80, 100)]


def test_a_tail_of_nothing_says_so(folder: Path) -> None:
    assert "empty" in tail(folder / "log")
