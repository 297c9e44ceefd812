"""What a consumer has in hand: messages that others do not see while it says so."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count

import msgspec

from lamplighter.ports.bus import Place, Record


class Held(msgspec.Struct):
    """A message, from its receipt until it is settled; `is_told` once the caller has it."""

    record: Record
    handle: str
    receives: int
    since: float
    renewed: float
    is_told: bool = False


class Holdings:
    """By offset, which is a number of this consumer's own: SQS has none."""

    def __init__(self, steady: Callable[[], float] = time.monotonic) -> None:
        self.changed = threading.Condition()
        self._steady = steady
        self._numbers = count()
        self._held: dict[int, Held] = {}

    def next_offset(self) -> int:
        return next(self._numbers)

    def add(self, received: Iterable[Held]) -> None:
        with self.changed:
            self._held.update((each.record.offset, each) for each in received)
            self.changed.notify_all()

    def take(self, most: int) -> list[Record]:
        """Those that nobody was told of, oldest first."""
        with self.changed:
            fresh = [each for each in self._held.values() if not each.is_told][:most]
            now = self._steady()
            for each in fresh:
                each.is_told, each.since = True, now
            return [each.record for each in fresh]

    def any_untold(self) -> bool:
        with self.changed:
            return any(not each.is_told for each in self._held.values())

    def of(self, records: Sequence[Record]) -> list[Held]:
        """Those of them that are still in hand."""
        with self.changed:
            return [self._held[each.offset] for each in records if each.offset in self._held]

    def from_on(self, starts: Mapping[Place, int]) -> list[Held]:
        """What was told of these queues, from these offsets on."""
        with self.changed:
            return [
                each
                for offset, each in self._held.items()
                if each.is_told and offset >= starts.get(each.record.place, offset + 1)
            ]

    def forget(self, some: Iterable[Held]) -> None:
        with self.changed:
            for each in some:
                self._held.pop(each.record.offset, None)
            self.changed.notify_all()

    def everything(self) -> list[Held]:
        with self.changed:
            return list(self._held.values())

    def older(self, seconds: float, *, told: bool) -> list[Held]:
        """In hand for so long: told of, or lying here unasked for."""
        end = self._steady() - seconds
        return [each for each in self.everything() if each.is_told is told and each.since < end]

    def to_renew(self, seconds: float) -> list[Held]:
        """Those that were shown to be alive so long ago, and count as renewed from here on."""
        now = self._steady()
        due = [each for each in self.everything() if each.renewed < now - seconds]
        for each in due:
            each.renewed = now
        return due
