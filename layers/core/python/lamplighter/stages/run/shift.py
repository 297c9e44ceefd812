"""What one caller has started, and how it ended."""

from collections.abc import Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

import msgspec

from lamplighter.domain.run import Claimed, Outcome
from lamplighter.ports.target import Found, Targets
from lamplighter.stages.run import verdicts
from lamplighter.stages.run.limits import Limits


class Started(msgspec.Struct, frozen=True):
    """`ended`: those that were over at once. `placed`: how many took a place of the worker's."""

    ended: list[Outcome]
    placed: int


class Around(Protocol):
    """What a shift needs of the runner."""

    limits: Limits
    targets: Targets

    def place(self, run: Claimed, found: Found, ended: "SimpleQueue[Outcome]") -> None: ...

    def run_quick(self, run: Claimed, found: Found) -> Outcome: ...


class Shift:
    """One thread starts, and any one may wait. Every run that was started ends exactly once."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._ended: SimpleQueue[Outcome] = SimpleQueue()

    def start(self, batch: Sequence[Claimed]) -> Started:
        """The slow ones first, in threads of their own; meanwhile the quick ones, in this one."""
        quick: list[tuple[Claimed, Found]] = []
        ended: list[Outcome] = []
        for run in batch:
            try:
                found = self._around.targets.find(run)
            except Exception as error:  # noqa: BLE001 - a document may be anything
                ended.append(verdicts.refused(run, error, self._around.limits))
                continue
            if found.quick:
                quick.append((run, found))
            else:
                self._around.place(run, found, self._ended)
        placed = len(batch) - len(quick) - len(ended)
        ended += [self._around.run_quick(run, found) for run, found in quick]
        return Started(ended, placed)

    def wait(self, seconds: float | None = None) -> list[Outcome]:
        """A handful of outcomes, as soon as there is one; nothing when the time is over first."""
        try:
            return [self._ended.get(timeout=seconds), *self._drained()]
        except Empty:
            return []

    def _drained(self) -> Iterator[Outcome]:
        while True:
            try:
                yield self._ended.get_nowait()
            except Empty:
                return
