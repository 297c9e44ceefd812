"""Threads that run targets: as many as there are places, and a way to leave a stuck one behind.

An executor of the standard library keeps a place for a thread that never comes back, and waits for
it when the process ends. Here the place is free again, up to a bound, and nobody waits.
"""

import threading
from collections import deque
from typing import Final, Protocol

_IDLE_SECONDS: Final = 10.0


class Task(Protocol):
    def perform(self) -> None:
        """Never raises."""

    def release(self) -> None:
        """It will not be performed."""


class Crew:
    def __init__(self, places: int, most_abandoned: int) -> None:
        self._places = places
        self._most_abandoned = most_abandoned
        self._changed = threading.Condition()
        self._waiting: deque[Task] = deque()
        self._members = 0
        self._idle = 0
        self._performing: set[Task] = set()
        self._abandoned: set[Task] = set()
        self._closed = False

    @property
    def abandoned(self) -> int:
        return len(self._abandoned)

    @property
    def exhausted(self) -> bool:
        return self._closed or self.abandoned >= self._most_abandoned

    @property
    def free(self) -> int:
        """How many tasks would start at once."""
        with self._changed:
            if self.exhausted:
                return 0
            return max(0, self._places - self._members + self._idle - len(self._waiting))

    def give(self, task: Task) -> None:
        with self._changed:
            refused = self.exhausted
            if not refused:
                self._waiting.append(task)
                self._staff()
        if refused:
            task.release()

    def abandon(self, task: Task) -> None:
        """Its thread will not come back soon: let another have the place, if there may be more."""
        with self._changed:
            if task not in self._performing:  # it came back just now
                return
            self._performing.discard(task)
            self._abandoned.add(task)
            self._members -= 1
            self._staff()
        if self.exhausted:
            self.release_waiting()

    def release_waiting(self) -> None:
        with self._changed:
            released, self._waiting = self._waiting, deque()
        for task in released:
            task.release()

    def close(self) -> None:
        """Nothing starts any more; what runs is left to end."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.release_waiting()

    def _staff(self) -> None:
        """Wake or hire one for what waits. The caller holds the lock."""
        if len(self._waiting) <= self._idle:
            self._changed.notify()
        elif self._members < self._places:
            self._members += 1
            threading.Thread(target=self._serve, name="run", daemon=True).start()

    def _serve(self) -> None:
        while (task := self._next()) is not None:
            task.perform()
            with self._changed:
                self._performing.discard(task)
                if task in self._abandoned:
                    self._abandoned.discard(task)
                    return

    def _next(self) -> Task | None:
        with self._changed:
            self._idle += 1
            try:
                woken = True
                while not self._waiting and woken and not self._closed:
                    woken = self._changed.wait(_IDLE_SECONDS)
                if self._waiting:
                    task = self._waiting.popleft()
                    self._performing.add(task)
                    return task
                self._members -= 1
                return None
            finally:
                self._idle -= 1
