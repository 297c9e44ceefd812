"""What a handler marks is read back, by whoever looks, whenever they look."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from benchmarks import marks, noting
from lamplighter.ports.target import Context


def _run(number: int, fire_ms: int) -> Context:
    run_id = UUID(int=(fire_ms << 80) | number)
    return cast("Context", SimpleNamespace(run=SimpleNamespace(run_id=run_id)))


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(marks.FOLDER, str(tmp_path))
    monkeypatch.setattr(noting, "_books", [])
    return tmp_path


def test_marks_are_counted_and_read_while_the_book_is_open(book: Path) -> None:
    for number in range(1, 1_001):
        noting.mark(None, _run(number, fire_ms=1_000_500))

    starts = marks.read(book)

    assert marks.count(book) == 1_000
    assert [int.from_bytes(start.run_id[6:]) for start in starts] == list(range(1, 1_001))
    assert {start.fire for start in starts} == {1000.5}
    assert all(start.lateness == start.at - 1000.5 for start in starts)


def test_threads_that_come_first_at_once_write_into_one_book(book: Path) -> None:
    together = threading.Barrier(8)

    def mark(number: int) -> None:
        together.wait()
        noting.mark(None, _run(number, fire_ms=1_000_500))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(mark, range(1, 9)))

    assert marks.count(book) == 8


def test_a_folder_without_marks_has_none(tmp_path: Path) -> None:
    assert marks.count(tmp_path) == 0
    assert marks.read(tmp_path) == []
