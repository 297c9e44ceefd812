"""What the cache keeps of a job: its latest run, as far as events tell. Small: there are many."""

from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from lamplighter.contracts.answers import shown_instant
from lamplighter.contracts.messages import JobEvent
from lamplighter.domain.ids import fire_of
from lamplighter.domain.states import RunState
from lamplighter.ports.cache import JobStatus


class CachedRun(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    tenant: str
    run_id: UUID
    status: str
    at: datetime
    due_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    attempt: int | None = None
    worker_id: str | None = None
    pool: str | None = None
    priority: int | None = None
    reason: str | None = None
    error: str | None = None
    wake_at: datetime | None = None


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(CachedRun)
# As `GET /jobs/{id}/status` names them.
_TIMES: Final = {
    "due_at": "due_at",
    "started_at": "start_time",
    "ended_at": "end_time",
    "at": "modified_time",
    "wake_at": "wake_at",
}
_WORDS: Final = {
    "attempt": "attempt_number",
    "worker_id": "executor_id",
    "pool": "pool",
    "priority": "priority",
    "reason": "reason",
    "error": "error_message",
}


def job_status(event: JobEvent, run_id: UUID, state: RunState) -> JobStatus:
    """The status of a job whose run stands so, and how new that is."""
    outcome = event.outcome
    ended_at = None
    if state.is_final:
        ended_at = event.at if outcome is None else outcome.ended_at or event.at
    kept = CachedRun(
        tenant=event.tenant,
        run_id=run_id,
        status=state.name,
        at=event.at,
        due_at=event.due_at,
        started_at=event.started_at,
        ended_at=ended_at,
        attempt=event.attempt,
        worker_id=event.worker_id,
        pool=event.pool,
        priority=event.priority,
        reason=event.reason,
        error=event.error if outcome is None else outcome.error,
        wake_at=event.wake_at,
    )
    return JobStatus(event.job_id, *how_new(event, run_id, state), _ENCODER.encode(kept))


def how_new(event: JobEvent, run_id: UUID, state: RunState) -> tuple[int, int, int]:
    """Fire, fence and step. Under one fence a run waits, runs, waits again, and has ended."""
    fence = event.fence or 0
    if state.is_final:
        return run_id.int >> 80, fence, 3
    if state is RunState.RUNNING:
        return run_id.int >> 80, fence, 1
    return run_id.int >> 80, fence, 2 if fence else 0


def cached_answer(tenant: str, job_id: UUID, body: bytes) -> dict[str, Any] | None:
    """`latest_run` out of the cache; None where it is another tenant's, or not to be understood."""
    try:
        kept = _DECODER.decode(body)
    except msgspec.MsgspecError:
        return None
    if kept.tenant != tenant:
        return None
    answer: dict[str, Any] = {
        "run_id": str(kept.run_id),
        "job_id": str(job_id),
        "status": kept.status,
        "fire_at": shown_instant(fire_of(kept.run_id)),
    }
    for name, shown in _TIMES.items():
        if (at := getattr(kept, name)) is not None:
            answer[shown] = shown_instant(at)
    for name, shown in _WORDS.items():
        if (value := getattr(kept, name)) is not None:
            answer[shown] = value
    return answer
