"""The fires of a rule, as if nothing bounded it: `next` after a moment, and `count` in a range."""

from typing import Protocol

import msgspec

from lamplighter.domain.policy import DstGap, DstOverlap
from lamplighter.domain.schedule.expression import Expression
from lamplighter.domain.schedule.times import DAY, EARLIEST_MS, LATEST_MS
from lamplighter.domain.schedule.zones import Segment, Zone

# The Gregorian calendar repeats after 400 years. What has not fired by then never will.
_HORIZON = 400 * 366 * DAY


class Timetable(Protocol):
    """Milliseconds since 1970, UTC, in and out."""

    def next(self, after: int) -> int | None:
        """The first fire strictly later than `after`."""

    def count(self, start: int, end: int) -> int:
        """How many fires lie in [start, end), at a cost that does not grow with their number."""


class Never:
    """For a job that runs at the fires of others."""

    def next(self, after: int) -> int | None:  # noqa: ARG002
        """Return None."""
        return None

    def count(self, start: int, end: int) -> int:  # noqa: ARG002
        """Return 0."""
        return 0


class Once(msgspec.Struct, frozen=True):
    """A single fire."""

    at: int

    def next(self, after: int) -> int | None:
        """See Timetable."""
        return self.at if after < self.at else None

    def count(self, start: int, end: int) -> int:
        """See Timetable."""
        return int(start <= self.at < end)


class Every(msgspec.Struct, frozen=True):
    """Elapsed time from an anchor, which is itself the first fire. Integers: it cannot drift."""

    anchor: int
    step: int

    def next(self, after: int) -> int | None:
        """See Timetable."""
        return self.anchor + self._before(after + 1) * self.step

    def count(self, start: int, end: int) -> int:
        """See Timetable."""
        return max(0, self._before(end) - self._before(start))

    def _before(self, moment: int) -> int:
        return max(0, -((self.anchor - moment) // self.step))


class Cron:
    """An expression read off the clock of a zone.

    Within a segment of constant offset wall time and UTC differ by a constant, so a search is one
    look-up in the masks. The policies only decide which wall times a segment owns (overlap), and
    whether a transition is itself a fire (gap). Expressions that do not name their hours follow
    elapsed time: every second that the clock really shows counts, and no other.
    """

    def __init__(
        self, expression: Expression, zone: Zone, gap: DstGap, overlap: DstOverlap
    ) -> None:
        named = expression.names_its_hours
        self.expression = expression
        self.zone = zone
        self.shifts = named and gap is DstGap.SHIFT
        self.overlap = overlap if named else DstOverlap.BOTH
        self._known = (0, 0)

    def next(self, after: int) -> int | None:
        """See Timetable. Remembers the last stretch without fires: neighbours ask again."""
        known_from, known = self._known
        if known_from <= after < known:
            return known
        after = max(after, EARLIEST_MS)
        second = self._search(after // 1000)
        if second is None:
            return None
        # One assignment: a thread sees the old pair or the new one, never half of each.
        self._known = (after, second * 1000)
        return second * 1000

    def count(self, start: int, end: int) -> int:
        """See Timetable."""
        first, last = -(-max(start, EARLIEST_MS) // 1000), -(-min(end, LATEST_MS) // 1000)
        total = 0
        for segment in self.zone.segments(first, last):
            opens, closes = self.owned(segment)
            opens = max(opens, first + segment.offset)
            closes = min(closes, last + segment.offset)
            total += self.expression.count(opens, closes) if opens < closes else 0
            total += segment.end < last and self._adds_fire_at_end(segment)
        # The transition that opens the first segment belongs to the one before it.
        return total + (first < last and self._adds_fire_at(first))

    def owned(self, segment: Segment) -> tuple[int, int]:
        """The wall times [opens, closes) that fire in this segment, if they match."""
        opens, closes = segment.start + segment.offset, segment.end + segment.offset
        if segment.before > segment.offset and self.overlap is DstOverlap.FIRST:
            opens = segment.start + segment.before
        if segment.is_overlap and self.overlap is DstOverlap.SECOND:
            closes = segment.end + segment.after
        return opens, closes

    def _search(self, after: int) -> int | None:
        horizon = min(after + _HORIZON, LATEST_MS // 1000)
        segment = self.zone.segment(after)
        opens, closes = self.owned(segment)
        wall = self.expression.at_or_after(max(opens, after + 1 + segment.offset))
        while wall is not None and wall <= horizon:
            if wall < closes:
                return wall - segment.offset
            if self.shifts and segment.is_gap and wall < segment.end + segment.after:
                return segment.end
            # Until two days before the match nothing can fire, except that a clock set back
            # may show an earlier match again.
            again = segment.is_overlap
            start = segment.end if again else max(segment.end, wall - 2 * DAY)
            segment = self.zone.segment(start)
            opens, closes = self.owned(segment)
            if again or wall < opens:
                wall = self.expression.at_or_after(opens)
        return None

    def _adds_fire_at(self, second: int) -> bool:
        segment = self.zone.segment(second - 1)
        return segment.end == second and self._adds_fire_at_end(segment)

    def _adds_fire_at_end(self, segment: Segment) -> bool:
        """Whether the end of a gap is a fire only because of what the gap swallowed."""
        if not (self.shifts and segment.is_gap):
            return False
        opens, closes = segment.end + segment.offset, segment.end + segment.after
        wall = self.expression.at_or_after(opens)
        return wall is not None and wall < closes and self.expression.at_or_after(closes) != closes
