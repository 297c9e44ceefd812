"""The scheduler's own job: while it comes back in time, all of this works."""

from typing import Final
from uuid import UUID

from lamplighter.domain.ids import derived_job_id

# A tenant of its own: what belongs to it is in nobody's list, and in nobody's statistics.
INTERNAL_TENANT: Final = "lamplighter"
CANARY_NAME: Final = "lamplighter.canary"
CANARY_HANDLER: Final = "builtin.canary"
# One that was cancelled stays so; the next one takes the next id.
MOST_CANARIES: Final = 100


def canary_key(number: int) -> str:
    """As an Idempotency-Key: from it comes the id."""
    return f"canary {number}"


def canary_id(number: int) -> UUID:
    return derived_job_id(INTERNAL_TENANT, canary_key(number))


_CANARIES: Final = frozenset(canary_id(number) for number in range(MOST_CANARIES))


def is_canary(job_id: UUID) -> bool:
    return job_id in _CANARIES
