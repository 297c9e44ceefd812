"""Lanes in memory: the runs of one class, pool and tenant, and the line that lanes stand in."""

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

import msgspec

from lamplighter.domain.ids import epoch_ms
from lamplighter.domain.ordering import LITTLE, Passes, aged_score, share_out, take_turns
from lamplighter.domain.policy import JobClass
from lamplighter.domain.run import Due


class Lane(msgspec.Struct, frozen=True, order=True):
    job_class: int
    pool: str
    tenant: str

    @classmethod
    def of(cls, run: Due) -> "Lane":
        return cls(JobClass.of(run.priority).value, run.pool, run.tenant)


class Lanes:
    """A lane is in line while a run of it is due, by the time of the last tick that found one."""

    def __init__(self) -> None:
        self.now = 0
        self._runs: dict[Lane, dict[UUID, Due]] = {}
        # Tenants, the next turn first. Dictionaries, because one asks for a place in them often.
        self._lines: dict[tuple[str, JobClass], dict[str, None]] = {}
        self._passes: dict[str, Passes] = {}

    def put(self, run: Due) -> None:
        self._runs.setdefault(Lane.of(run), {})[run.run_id] = run

    def pull(self, run: Due) -> bool:
        """Take a run out; `settle` has to follow. False if it is in flight."""
        lane = Lane.of(run)
        if self._runs.get(lane, {}).get(run.run_id) != run:
            return False
        self._take_out(lane, run)
        return True

    def settle(self, pulled: Iterable[Due]) -> None:
        """Let those leave the line that have nothing due any more."""
        for run in pulled:
            self._leave_line(Lane.of(run))

    def next_due(self) -> int | None:
        waiting = (self._due(lane) for lane in self._runs if not self._is_in_line(lane))
        return min(waiting, default=None)

    def join_line(self, now: int) -> int:
        due = [(self._due(lane), lane) for lane in self._runs if not self._is_in_line(lane)]
        joining = [lane for at, lane in sorted(due) if at <= now]
        for lane in joining:
            self._line(lane.pool, JobClass(lane.job_class))[lane.tenant] = None
        return len(joining)

    def in_line(self, pool: str) -> int:
        return sum(len(self._line(pool, job_class)) for job_class in JobClass)

    def depths(self, now: int) -> Iterator[tuple[Lane, int]]:
        for lane in self._runs:
            if self._is_in_line(lane):
                yield lane, len(self._urgent(lane, now))

    def serve(self, pool: str, places: int, now: int, strides: dict[JobClass, int]) -> list[Due]:
        """Pop up to so many: classes by their shares, tenants by turns, runs by aged score."""
        waiting = {
            job_class: sum(len(self._urgent(lane, now)) for lane in self._standing(pool, job_class))
            for job_class in JobClass
        }
        passes = self._passes.get(pool, Passes())
        given, self._passes[pool] = share_out(places, waiting, passes, strides)
        return [
            run
            for job_class in JobClass
            for run in self._take_turns(pool, job_class, given[job_class], now)
        ]

    def serve_small(self, pool: str, kept: int, now: int) -> list[Due]:
        """All that is due of tenants of whom little is, in order of their turns."""
        popped: list[Due] = []
        for job_class in JobClass:
            for lane in self._standing(pool, job_class):
                due = self._urgent(lane, now)
                if len(due) <= min(LITTLE, kept - len(popped)):
                    popped += due
                    self._pop(lane, due, now)
        return popped

    def _pop(self, lane: Lane, runs: Sequence[Due], now: int) -> None:
        for run in runs:
            self._take_out(lane, run)
        self.now = max(self.now, now) if runs else self.now
        self._leave_line(lane)

    def _take_turns(self, pool: str, job_class: JobClass, places: int, now: int) -> list[Due]:
        lanes = self._standing(pool, job_class)
        hands = [self._urgent(lane, now) for lane in lanes]
        turns = take_turns([len(hand) for hand in hands], places)
        popped = [hands[turn].pop(0) for turn in turns]
        for run in popped:
            self._take_out(Lane.of(run), run)
        line = self._line(pool, job_class)
        for turn in turns:  # to the end of the line, with each turn anew
            line[lanes[turn].tenant] = line.pop(lanes[turn].tenant)
        self.now = max(self.now, now) if popped else self.now
        for lane in lanes:
            self._leave_line(lane)
        return popped

    def _urgent(self, lane: Lane, now: int) -> list[Due]:
        """What is due, most urgent first."""

        def rank(run: Due) -> tuple[int, int, bytes]:
            urgency = aged_score(run.priority, epoch_ms(run.due_at), now)
            return urgency, run.priority, run.run_id.bytes

        due = (run for run in self._runs[lane].values() if epoch_ms(run.due_at) <= now)
        return sorted(due, key=rank)

    def _standing(self, pool: str, job_class: JobClass) -> list[Lane]:
        return [Lane(job_class.value, pool, each) for each in self._line(pool, job_class)]

    def _take_out(self, lane: Lane, run: Due) -> None:
        del self._runs[lane][run.run_id]
        if not self._runs[lane]:
            del self._runs[lane]

    def _leave_line(self, lane: Lane) -> None:
        is_due = lane in self._runs and self._due(lane) <= self.now
        if self._is_in_line(lane) and not is_due:
            del self._line(lane.pool, JobClass(lane.job_class))[lane.tenant]

    def _due(self, lane: Lane) -> int:
        return min(epoch_ms(run.due_at) for run in self._runs[lane].values())

    def _is_in_line(self, lane: Lane) -> bool:
        return lane.tenant in self._line(lane.pool, JobClass(lane.job_class))

    def _line(self, pool: str, job_class: JobClass) -> dict[str, None]:
        return self._lines.setdefault((pool, job_class), {})
