"""The data folder: what `up` may write into it, and where it can be."""

import socket
from pathlib import Path

import pytest

from infra.local.data import keep_out_of_git, make_folder
from infra.local.errors import ServiceFailed
from tests.infra.local.upping import running


def test_a_fresh_folder_is_kept_out_of_git(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"

    make_folder(folder)
    keep_out_of_git(folder)

    assert (folder / ".gitignore").read_text(encoding="ascii") == "*\n"


def test_a_folder_of_an_older_stack_is_kept_out_of_git(tmp_path: Path) -> None:
    for name in ("postgres", "valkey", "logs", "runs"):
        (tmp_path / name).mkdir()

    keep_out_of_git(tmp_path)

    assert (tmp_path / ".gitignore").exists()


@pytest.mark.parametrize("name", [".gitignore", "README.md"])
def test_what_is_somebody_elses_stays_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine\n", encoding="ascii")

    keep_out_of_git(tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="ascii") == "mine\n"


def test_a_folder_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(ServiceFailed, match=r"cannot hold the data: Not a directory\.\n.*--data"):
        make_folder(tmp_path / "file" / "below")


def test_up_says_that_it_cannot_make_its_folder(tmp_path: Path) -> None:
    with running(tmp_path, "--data", "/proc/lamplighter") as up:
        assert up.ends() == 1

    assert "/proc/lamplighter cannot hold the data" in up.said
    assert "Traceback" not in up.said


def test_an_up_that_refuses_leaves_git_alone(tmp_path: Path) -> None:
    (tmp_path / ".lamplighter").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with running(tmp_path, "--port", str(port)) as up:
            assert up.ends() == 1

    assert not (up.data / ".gitignore").exists()
