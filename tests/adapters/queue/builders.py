"""Runs in the fewest words: a test names only what it is about."""

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from lamplighter.domain.run import Due
from lamplighter.ports.queue import Ready

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
POOL = "default"
PLENTY = {POOL: 1000}


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def run(
    seconds: float = 0,
    *,
    tenant: str = "acme",
    pool: str = POOL,
    priority: int = 5,
    fence: int = 0,
    run_id: UUID | None = None,
) -> Due:
    """Due so many seconds after noon."""
    return Due(run_id or uuid4(), tenant, pool, priority, at(seconds), fence)


def ready(due: Due) -> Ready:
    return Ready(due.run_id, due.fence, due.priority, due.pool, due.tenant)
