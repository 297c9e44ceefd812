"""Partitions: what is unfinished in each partition of one topic, and where the next runs go."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

# Steps of this part of a circle come closest to dividing it evenly, however many they are.
_GOLDEN: Final = 0.618
# One in so many is quiet: who asks for much leaves it alone, so that nobody else waits behind that.
_ONE_QUIET_IN: Final = 10


class Partitions:
    """Nothing is known of them until the bus has answered once."""

    def __init__(self) -> None:
        self._loads: list[int] = []
        self._order: list[int] = []
        self._answered: Sequence[int] = ()
        self._stuck: set[int] = set()
        self._turn = 0

    def unfinished(self) -> int:
        return sum(self._loads)

    def learn(self, lags: Sequence[int]) -> None:
        """An answer of the bus. A partition is stuck that had work at the last one and did none."""
        seen = zip(self._answered, self._loads, lags, strict=False)
        moves = [before == 0 or lag < load for before, load, lag in seen]
        self._stuck = {number for number, moved in enumerate(moves) if not moved}
        if len(self._loads) != len(lags):
            self._order = _far_apart(len(lags))
        self._answered, self._loads = lags, list(lags)

    def __len__(self) -> int:
        return len(self._loads)

    def take(self, runs: int, together: int = 1, *, is_little: bool = True) -> list[int]:
        """Partitions for so many runs, each in a row as often as it gets one; [] if none is known.

        One that is idle, and where there is none, one that is not stuck: whoever is behind a run
        of a minute waits for it, however short the line. Among equals they take turns. No more of
        them than it takes for each to get about `together` runs. Who asks for much leaves some
        partitions to the others.
        """
        if not self._loads:
            return []
        best = sorted(self._best(is_little=is_little), key=self._loads.__getitem__)
        shares = spread(
            runs, {number: self._loads[number] for number in best[: -(-runs // together)]}
        )
        for number, share in shares.items():
            self._loads[number] += share
        self._turn = self._order.index([*shares][-1]) + 1
        return [number for number, share in shares.items() for _ in range(share)]

    def _best(self, *, is_little: bool) -> list[int]:
        turn = self._turn % len(self._order)
        line = self._order[turn:] + self._order[:turn]
        quiet = set(self._order[: len(self._order) // _ONE_QUIET_IN])
        usual = line if is_little else [number for number in line if number not in quiet]
        idle = [number for number in usual if not self._loads[number]]
        moving = [number for number in usual if number not in self._stuck]
        among_few = [number for number in moving if is_little and number in quiet]
        return idle or among_few or moving or line


def _far_apart(count: int) -> list[int]:
    """All partitions, neighbours last: whoever reads one mostly reads those next to it, too."""
    step = round(count * _GOLDEN)
    while math.gcd(step, count) > 1:
        step += 1
    return [number * step % count for number in range(count)]


def spread(runs: int, loads: Mapping[int, int]) -> dict[int, int]:
    """How many each one gets, so that the least loaded come to one level, to within one.

    Among equals the first is served first; who gets nothing is not named.
    """
    line = sorted(loads, key=loads.__getitem__)
    while len(line) * loads[line[-1]] > (total := runs + sum(loads[each] for each in line)):
        line.pop()
    level, rest = divmod(total, len(line))
    shares = {each: level - loads[each] + (n < rest) for n, each in enumerate(line)}
    return {each: share for each, share in shares.items() if share}
