"""The bodies that people send, field by field. Left out is UNSET; null is the default."""

from datetime import date, datetime
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from lamplighter.domain.policy import (
    Backoff,
    CatchUp,
    CatchUpPolicy,
    DayMatch,
    Dst,
    EdgeRule,
    OnAmbiguous,
    Overlap,
    ScheduleType,
    TriggerRule,
)
from lamplighter.domain.schedule import CalendarUse, Window

T = TypeVar("T")
Given: TypeAlias = T | UnsetType | None

DAYS_30 = 30 * 86_400
Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=DAYS_30)]
Priority: TypeAlias = Annotated[int, Meta(ge=1, le=10)]
Retries: TypeAlias = Annotated[int, Meta(ge=0, le=1000)]
Patience: TypeAlias = Annotated[int, Meta(ge=1, le=7 * 86_400)]
Slots: TypeAlias = Annotated[int, Meta(ge=1, le=10_000)]


class ScheduleBody(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, gc=False):
    """Every field that decides when a job fires."""

    schedule_type: Given[ScheduleType] = UNSET
    schedule_time: Given[datetime] = UNSET
    cron_expression: Given[str] = UNSET
    interval_seconds: Given[float] = UNSET
    timezone: Given[str] = UNSET
    start_at: Given[datetime] = UNSET
    end_at: Given[datetime] = UNSET
    jitter_seconds: Given[float] = UNSET
    dst: Given[Dst] = UNSET
    day_match: Given[DayMatch] = UNSET
    calendar: Given[str | CalendarUse] = UNSET  # a bare name is one to exclude
    catch_up: Given[CatchUp | CatchUpPolicy] = UNSET


class Edge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `after`; in a workflow `job_id` may be the key of another job of it."""

    job_id: str
    rule: EdgeRule = EdgeRule.SAME_FIRE
    within_seconds: Annotated[int, Meta(ge=1, le=366 * 86_400)] | None = None


class JobBody(ScheduleBody, kw_only=True, gc=False):
    """`POST /jobs`, and all of it optional for `PUT /jobs/{job_id}`.

    `command` and `dependencies` are short for a command target and for `after`. Documents stay
    raw until they have been checked for size and depth.
    """

    name: Given[str] = UNSET
    target: Raw | UnsetType = UNSET
    command: Given[str] = UNSET
    payload: Raw | UnsetType = UNSET
    priority: Given[Priority] = UNSET
    pool: Given[str] = UNSET
    fan_out: Given[tuple[str, ...]] = UNSET
    max_retries: Given[Retries] = UNSET
    backoff: Given[Backoff] = UNSET
    timeout_seconds: Given[Seconds] = UNSET
    start_deadline_seconds: Given[Seconds] = UNSET
    expires_at: Given[datetime] = UNSET
    overlap: Given[Overlap] = UNSET
    ordering_key: Given[str] = UNSET
    concurrency_key: Given[str] = UNSET
    max_concurrency: Given[Slots] = UNSET
    after: Given[tuple[str | Edge, ...]] = UNSET
    dependencies: Given[tuple[str, ...]] = UNSET
    trigger_rule: Given[TriggerRule] = UNSET
    blocked_seconds: Given[Patience] = UNSET
    on_ambiguous: Given[OnAmbiguous] = UNSET
    critical: Given[bool] = UNSET
    tags: Given[tuple[str, ...]] = UNSET
    metadata: Raw | UnsetType = UNSET


class NewJobBody(JobBody, kw_only=True):
    """A submission. With `items` it becomes one job per item, each with that item as payload."""

    items: Given[tuple[Raw, ...]] = UNSET


class WorkflowJobBody(JobBody, kw_only=True):
    """A job of a workflow. The others name it by `key`; without one, by its name."""

    key: Given[str] = UNSET


class BatchBody(msgspec.Struct, forbid_unknown_fields=True):
    jobs: tuple[JobBody, ...]


class WorkflowBody(msgspec.Struct, forbid_unknown_fields=True):
    jobs: tuple[WorkflowJobBody, ...]
    name: str | None = None


class BackfillBody(msgspec.Struct, forbid_unknown_fields=True):
    """Fires from `start` up to, not including, `end`; `at_once` is the budget of their lane."""

    start: datetime
    end: datetime | None = None
    max_runs: Annotated[int, Meta(ge=1, le=1000)] = 1000
    at_once: Annotated[int, Meta(ge=1, le=1000)] = 10


class RunNowBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`cascade`: with it, the jobs that take their fires from this one."""

    cascade: bool = False


class DecisionBody(msgspec.Struct, forbid_unknown_fields=True):
    """What has become of a held run: SUCCESS, FAILED, or SCHEDULED to run it again."""

    status: Literal["SUCCESS", "FAILED", "SCHEDULED"]


class CalendarBody(msgspec.Struct, forbid_unknown_fields=True):
    """Whole days of whichever zone, and windows; at least one of them."""

    dates: Annotated[tuple[date, ...], Meta(max_length=10_000)] = ()
    windows: Annotated[tuple[Window, ...], Meta(max_length=10_000)] = ()


class EmptyBody(msgspec.Struct, forbid_unknown_fields=True):
    """For what needs no more words than its path."""


class PreviewBody(ScheduleBody, kw_only=True):
    """Here `after` is an instant: fires strictly later than it are shown."""

    after: Given[datetime] = UNSET
    until: Given[datetime] = UNSET
    count: Annotated[int, Meta(ge=1, le=1000)] = 10


def given(body: msgspec.Struct) -> dict[str, Any]:
    """What was said, and nothing else. None stands for a null: back to the default."""
    said = msgspec.structs.asdict(body)
    return {name: _or_null(value) for name, value in said.items() if value is not UNSET}


def _or_null(value: Any) -> Any:
    return None if isinstance(value, Raw) and bytes(value) == b"null" else value
