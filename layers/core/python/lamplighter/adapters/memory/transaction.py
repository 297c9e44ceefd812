"""One lock, one moment, and all or nothing: what every call to the ledger in memory shares."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from threading import Lock

from lamplighter.adapters.memory.books import Books
from lamplighter.adapters.memory.clock import system_clock


class Transactional:
    """`clock` says what time it is; `draw`, in [0, 1), how far a retry is spread."""

    def __init__(
        self,
        clock: Callable[[], datetime] = system_clock,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._draw = draw
        self._lock = Lock()
        self._books = Books(clock())

    @contextmanager
    def _transaction(self) -> Iterator[Books]:
        books = self._books
        with self._lock:
            books.now = self._clock()
            try:
                yield books
            except BaseException:
                books.journal.undo()
                raise
            books.journal.forget()
