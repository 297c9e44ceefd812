"""What `bench.mark` wrote down: which run began, and when. Can be read while it is written."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

FOLDER: Final = "BENCH_MARKS"  # the variable that names the folder
MARK: Final = struct.Struct("<16sd")
MOST: Final = 16_000_000


class Start(NamedTuple):
    """`at` and `fire` are seconds since 1970, on the clock of this machine."""

    run_id: bytes
    at: float

    @property
    def fire(self) -> float:
        return int.from_bytes(self.run_id[:6], "big") / 1000

    @property
    def lateness(self) -> float:
        return self.at - self.fire


def read(folder: Path) -> list[Start]:
    """Every start in the order of time."""
    found = [start for book in folder.glob("*.marks") for start in _read(book)]
    return sorted(found, key=lambda start: start.at)


def count(folder: Path) -> int:
    """How many there are, at the price of a few reads."""
    return sum(_length(book) for book in folder.glob("*.marks"))


def _read(book: Path) -> Iterator[Start]:
    with book.open("rb") as file:
        written = file.read(MARK.size * _length(book))
    return (Start(*mark) for mark in MARK.iter_unpack(written))


def _length(book: Path) -> int:
    """They fill the file from its beginning, so the first empty one is found by halving."""
    low, high = 0, MOST
    with book.open("rb") as file:
        while low < high:
            middle = (low + high) // 2
            file.seek(MARK.size * middle + 16)
            if any(file.read(8)):
                low = middle + 1
            else:
                high = middle
    return low
