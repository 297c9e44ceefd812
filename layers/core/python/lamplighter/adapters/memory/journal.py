"""Dictionaries that can be put back as they were: a call is done whole, or not at all."""

from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Journal:
    """What it takes to undo the call that is under way, last step first."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []

    def note(self, step: Callable[[], object]) -> None:
        self._steps.append(step)

    def forget(self) -> None:
        self._steps.clear()

    def undo(self) -> None:
        while self._steps:
            self._steps.pop()()


class Table(MutableMapping[K, V]):
    """Rows by key. Rows are never changed in place, so the old one is all it takes to go back."""

    def __init__(self, journal: Journal) -> None:
        self._rows: dict[K, V] = {}
        self._journal = journal

    def __getitem__(self, key: K) -> V:
        return self._rows[key]

    def __setitem__(self, key: K, row: V) -> None:
        self._note(key)
        self._rows[key] = row

    def __delitem__(self, key: K) -> None:
        self._note(key)
        del self._rows[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _note(self, key: K) -> None:
        rows = self._rows
        if key not in rows:
            self._journal.note(lambda: rows.pop(key, None))
            return
        before = rows[key]
        self._journal.note(lambda: rows.__setitem__(key, before))
