"""The partitions that a consumer holds: how far each was read, and what is with a handler."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lamplighter.adapters.streams.membership import Attendance, Grant
from lamplighter.adapters.streams.packing import unpack
from lamplighter.ports.bus import Place, Record


@dataclass
class Holding:
    """One partition under one mark. `read_to` is the next offset to ask the server for."""

    mark: str
    read_to: int
    ready: list[Record] = field(default_factory=list)
    out_until: int = 0
    out_since: float = 0.0

    @property
    def out(self) -> bool:
        return self.out_until > 0

    def take(self, most: int) -> list[Record]:
        """Hand out what was read; the rest stays ready."""
        taken, self.ready = self.ready[:most], self.ready[most:]
        if taken:
            self.out_until, self.out_since = taken[-1].offset + 1, time.monotonic()
        return taken

    def settle(self) -> None:
        self.out_until = 0


class Holdings:
    """All of one consumer's. Not thread-safe: its consumer sees to that."""

    def __init__(self) -> None:
        self._held: dict[Place, Holding] = {}

    def update(self, attendances: Iterable[Attendance]) -> None:
        """Keep what is still ours, drop what is not, begin what is new at its committed offset."""
        before, self._held = self._held, {}
        for attendance in attendances:
            for grant in attendance.grants:
                self._held[grant.place] = _continued(before.get(grant.place), grant)

    def at_rest(self, attendance: Attendance) -> dict[Place, str]:
        """Of the surplus, what no handler has. The rest is given up when its time comes."""
        idle = [grant for grant in attendance.grants if not self._held[grant.place].out]
        return {grant.place: grant.mark for grant in idle[: attendance.surplus]}

    def drop(self, places: Iterable[Place]) -> None:
        for place in places:
            self._held.pop(place, None)

    def drop_all(self) -> None:
        self._held = {}

    def take(self, most: int) -> list[Record]:
        taken: list[Record] = []
        for place, holding in list(self._held.items()):
            if holding.ready and not holding.out and len(taken) < most:
                taken += holding.take(most - len(taken))
                # To the end of the line: a full partition must not keep the others waiting.
                self._held[place] = self._held.pop(place)
        return taken

    def to_read(self) -> dict[Place, Holding]:
        """Whatever has nothing ready and no handler."""
        return {p: held for p, held in self._held.items() if not held.ready and not held.out}

    def add(
        self, place: Place, asked: Holding, entries: Iterable[tuple[bytes, Mapping[bytes, bytes]]]
    ) -> None:
        """What was read, unless the partition has been given up or rewound in the meantime."""
        if self._held.get(place) is not asked:
            return
        for entry_id, fields in entries:
            end = int(entry_id.partition(b"-")[2])
            if end > asked.read_to:
                asked.ready += unpack(place, end, int(fields[b"t"]), fields[b"b"], asked.read_to)
                asked.read_to = end

    def marks(self, places: Iterable[Place]) -> dict[Place, str]:
        """The marks of those that are with a handler of ours."""
        found = {place: self._held.get(place) for place in places}
        return {place: held.mark for place, held in found.items() if held and held.out}

    def committed(self, ends: Mapping[Place, int]) -> None:
        for place, end in ends.items():
            held = self._held.get(place)
            if held and end >= held.out_until:
                held.settle()

    def rewind(self, starts: Mapping[Place, int]) -> None:
        for place, start in starts.items():
            held = self._held.get(place)
            if held and held.out:
                # A new object: what is being read for the old one is not what comes next.
                self._held[place] = Holding(held.mark, read_to=start)

    def any_out(self) -> bool:
        return any(held.out for held in self._held.values())

    def overdue(self, seconds: float) -> bool:
        latest = time.monotonic() - seconds
        return any(held.out and held.out_since < latest for held in self._held.values())


def _continued(held: Holding | None, grant: Grant) -> Holding:
    return held if held and held.mark == grant.mark else Holding(grant.mark, grant.committed)
