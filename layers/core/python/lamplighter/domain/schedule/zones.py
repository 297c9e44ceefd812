"""Time zones as stretches of constant offset, found once and remembered.

The rules come from the `tzdata` package and never from the system: two machines that disagree about
a transition would compute two different fires for the same night.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import IO, NamedTuple
from zoneinfo import ZoneInfo

from lamplighter.domain.errors import InvalidSchedule
from lamplighter.domain.schedule.times import DAY, EARLIEST_MS, LATEST_MS

# Zones are probed every five days. No zone has ever kept an offset for a shorter time than
# 6.9 days (Recife, October 2000); a test reads the raw database and holds us to that.
PROBE = 5 * DAY
BLOCK = 73 * PROBE


class Segment(NamedTuple):
    """Seconds [start, end) of UTC with one offset, and the offsets just before and just after.

    Neighbours may have the same offset: a segment also ends where a block of probes ends.
    """

    start: int
    end: int
    before: int
    offset: int
    after: int

    @property
    def is_gap(self) -> bool:
        """Whether the clock jumps ahead when this segment ends."""
        return self.after > self.offset

    @property
    def is_overlap(self) -> bool:
        """Whether the clock is set back when this segment ends."""
        return self.after < self.offset


class Zone:
    """One zone of the tz database. Use `zone(name)`, so that what was found is shared."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rules = _read(name)
        self._blocks: dict[int, tuple[list[int], list[Segment]]] = {}

    def offset(self, utc: int) -> int:
        """Seconds east of Greenwich."""
        shift = datetime.fromtimestamp(utc, self._rules).utcoffset() or timedelta(0)
        return shift.days * DAY + shift.seconds

    def segment(self, utc: int) -> Segment:
        """The one that holds this second."""
        number = utc // BLOCK
        starts, segments = self._blocks.get(number) or self._find(number)
        return segments[bisect_right(starts, utc) - 1]

    def segments(self, start: int, end: int) -> Iterator[Segment]:
        """Those that have a second in [start, end)."""
        start, end = max(start, EARLIEST_MS // 1000), min(end, LATEST_MS // 1000)
        while start < end:
            segment = self.segment(start)
            yield segment
            start = segment.end

    def instants(self, wall_from: int, wall_to: int) -> Iterator[tuple[int, int]]:
        """The stretches of UTC seconds during which the clock shows [wall_from, wall_to)."""
        for segment in self.segments(wall_from - 2 * DAY, wall_to + 2 * DAY):
            start = max(segment.start, wall_from - segment.offset)
            end = min(segment.end, wall_to - segment.offset)
            if start < end:
                yield start, end

    def _find(self, number: int) -> tuple[list[int], list[Segment]]:
        start, end = number * BLOCK, (number + 1) * BLOCK
        starts = [start, *(at for at in self._changes(start, end) if at > start)]
        offsets = [self.offset(start - 1), *(self.offset(at) for at in starts), self.offset(end)]
        ends = [*starts[1:], end]
        found = [
            Segment(*edges, *offsets[i : i + 3])
            for i, edges in enumerate(zip(starts, ends, strict=True))
        ]
        self._blocks[number] = starts, found
        return starts, found

    def _changes(self, start: int, end: int) -> Iterator[int]:
        """Seconds in [start, end) that have another offset than the second before."""
        known = self.offset(start - 1)
        low = start - 1
        for probe in range(start, end + 1, PROBE):
            high = min(probe, end - 1)
            offset = self.offset(high)
            if offset != known:
                yield self._first_with(offset, low, high)
                known = offset
            low = high

    def _first_with(self, offset: int, low: int, high: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.offset(middle) == offset else (middle, high)
        return high


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of that name; one that the tz database does not have is refused."""
    return Zone(name)


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """Every name that the pinned tz database knows."""
    with _open("zones") as names:
        return frozenset(names.read().decode().split())


def _read(name: str) -> ZoneInfo:
    if name not in zone_names():
        raise InvalidSchedule("timezone", _advice(name))
    with _open("zoneinfo", *name.split("/")) as rules:
        return ZoneInfo.from_file(rules, key=name)


def _open(*path: str) -> IO[bytes]:
    """A file of the tz database. Who never computes a fire need not know how to find one."""
    from importlib import resources

    return resources.files("tzdata").joinpath(*path).open("rb")


def _advice(name: str) -> str:
    by_fold = {known.casefold(): known for known in sorted(zone_names())}
    near = get_close_matches(name.casefold(), by_fold, n=1, cutoff=0.7)
    hint = f"did you mean {by_fold[near[0]]}?" if near else "use an IANA name like Europe/Berlin"
    return f"there is no time zone {name!r}; {hint}"
