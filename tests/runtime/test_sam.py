"""A wheel that cannot be had: done without on a laptop, an error in CI."""

import sys
from pathlib import Path

import pytest

from tests.runtime import sam

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the emulator is Linux's")


@pytest.fixture
def no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is here yet, and pip knows of no such version."""
    lock = tmp_path / "sam.txt"
    lock.write_text(f"no-such-wheel-of-ours==1.0 --hash=sha256:{'0' * 64}\n", encoding="ascii")
    monkeypatch.setattr(sam, "LOCK", lock)
    monkeypatch.setattr(sam, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.mark.usefixtures("no_wheel")
def test_without_it_there_is_no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    assert sam.emulator() is None


@pytest.mark.usefixtures("no_wheel")
def test_in_ci_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(sam.NoWheel, match=r"could not fetch sam\.txt"):
        sam.emulator()
