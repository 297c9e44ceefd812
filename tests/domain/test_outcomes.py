"""What may be skipped: only a run that nobody has begun."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from lamplighter.domain.outcomes import may_skip
from lamplighter.domain.run import Run
from lamplighter.domain.states import RunState

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _run(state: RunState, start_time: datetime | None) -> Run:
    return Run(
        run_id=uuid4(), job_id=uuid4(), tenant="t", pool="default", origin="schedule",
        state=state, fire_at=NOON, due_at=NOON, priority=5, fence=1, attempt_number=1, losses=0,
        created_at=NOON, modified_time=NOON, start_time=start_time,
    )  # fmt: skip


@pytest.mark.parametrize("state", list(RunState))
def test_only_what_waits_and_never_started_may_be_skipped(state: RunState) -> None:
    waits = state in (RunState.SCHEDULED, RunState.BLOCKED, RunState.PARKED)

    assert may_skip(_run(state, None)) is waits
    assert not may_skip(_run(state, NOON))
