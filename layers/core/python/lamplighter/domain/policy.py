"""The choices that a job can make, each a small closed set of words."""

from enum import Enum

import msgspec


class ScheduleType(Enum):
    IMMEDIATE = "IMMEDIATE"
    FUTURE = "FUTURE"
    CRON = "CRON"
    INTERVAL = "INTERVAL"
    AFTER = "AFTER"  # no schedule of its own: runs at the fires of its upstreams

    @property
    def is_recurring(self) -> bool:
        return self in (ScheduleType.CRON, ScheduleType.INTERVAL)

    @property
    def is_one_off(self) -> bool:
        return self in (ScheduleType.IMMEDIATE, ScheduleType.FUTURE)


class DstGap(Enum):
    """What happens to a wall time that the clock jumps over."""

    SHIFT = "shift"  # run at the first instant after the gap
    SKIP = "skip"


class DstOverlap(Enum):
    """What happens to a wall time that the clock shows twice."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class DayMatch(Enum):
    """How day of month and day of week combine when both are restricted."""

    OR = "or"
    AND = "and"


class Overlap(Enum):
    """What a fire does while an earlier run of the same job is unfinished."""

    ALLOW = "allow"
    FORBID = "forbid"
    QUEUE = "queue"
    REPLACE = "replace"


class CatchUp(Enum):
    """Which of the fires that are more than a minute late still run."""

    LATEST = "latest"
    ALL = "all"
    NONE = "none"


class OnAmbiguous(Enum):
    """What becomes of a run whose worker fell silent: it may or may not have done its work."""

    RETRY = "retry"
    HOLD = "hold"


class TriggerRule(Enum):
    """When a dependent may run, seen over all of its upstreams."""

    ALL_SUCCESS = "all_success"
    ALL_DONE = "all_done"
    ONE_SUCCESS = "one_success"
    NONE_FAILED = "none_failed"


class EdgeRule(Enum):
    """Which run of one upstream a dependent's fire waits for."""

    SAME_FIRE = "same_fire"
    LATEST_SUCCESS = "latest_success"
    NEXT_AFTER = "next_after"


class JobClass(Enum):
    """P1 … P4, derived from priority: each has its own topic and its own share of workers."""

    P1 = 1
    P2 = 2
    P3 = 3
    P4 = 4

    @classmethod
    def of(cls, priority: int) -> "JobClass":
        if priority <= 2:
            return cls.P1
        if priority <= 5:
            return cls.P2
        return cls.P3 if priority <= 8 else cls.P4


class Dst(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    gap: DstGap = DstGap.SHIFT
    overlap: DstOverlap = DstOverlap.FIRST


class CatchUpPolicy(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """`limit` bounds how many late fires `all` may run; older ones are recorded as missed."""

    policy: CatchUp = CatchUp.LATEST
    window_seconds: int = 3600
    limit: int = 100


class Backoff(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Seconds before the second attempt, then times `factor` each, never past the cap."""

    base_seconds: float = 1.0
    factor: float = 2.0
    cap_seconds: float = 3600.0
    jitter: bool = True


class Upstream(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One edge of the graph, as written in `after`."""

    job_id: str
    rule: EdgeRule = EdgeRule.SAME_FIRE
    within_seconds: int | None = None
