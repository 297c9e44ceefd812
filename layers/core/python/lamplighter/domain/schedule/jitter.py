"""Spreads jobs that share a fire, without moving the fire."""

from hashlib import blake2b
from uuid import UUID

from lamplighter.domain.schedule.model import Schedule


def jitter_ms(job_id: UUID | bytes, schedule: Schedule) -> int:
    """How long this job's runs wait after each fire: 0 … jitter_seconds, always the same."""
    widest = round(schedule.jitter_seconds * 1000)
    identity = job_id.bytes if isinstance(job_id, UUID) else job_id
    number = int.from_bytes(blake2b(identity, digest_size=8, person=b"jitter").digest(), "big")
    return number * (widest + 1) >> 64
